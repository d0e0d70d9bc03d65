// Written by `npm run client:types` from openapi.json. Change nothing here.

export interface paths {
    "/api/sms/admin/quota": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Create a quota */
        post: operations["smsQuotaCreate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sms/admin/quota/caps/preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Tell what a cap would have refused of a user in the last days; nothing changes */
        post: operations["smsOfficeCapTrial"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sms/admin/quota/change-sets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List change sets, newest first */
        get: operations["smsChangeSetList"];
        put?: never;
        /** Create a change set from a filter */
        post: operations["smsChangeSetCreate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sms/admin/quota/change-sets/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read one change set */
        get: operations["smsChangeSetGet"];
        put?: never;
        post?: never;
        /** Drop a change set that was not applied */
        delete: operations["smsChangeSetRemove"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sms/admin/quota/change-sets/{id}/apply": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Apply a change set */
        post: operations["smsChangeSetApply"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sms/admin/quota/change-sets/{id}/revert": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Revert a change set */
        post: operations["smsChangeSetRevert"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sms/admin/quota/change-sets/{id}/rows": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the rows of a change set, in order */
        get: operations["smsChangeSetRows"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sms/admin/quota/change-sets/{id}/rows.csv": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Export the rows of a change set as CSV */
        get: operations["smsChangeSetRowsCsv"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sms/admin/quota/changes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the changes of all quotas, newest first */
        get: operations["smsOfficeChanges"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sms/admin/quota/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the events of quotas and owners, oldest first */
        get: operations["smsOfficeEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sms/admin/quota/expiring": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the quotas that expire soon, soonest first */
        get: operations["smsOfficeExpiring"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sms/admin/quota/export.csv": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Export a list of quotas as CSV, newest first */
        get: operations["smsChangeSetExport"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sms/admin/quota/groups": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List groups, newest first */
        get: operations["smsGroupList"];
        put?: never;
        /** Create a group of owners */
        post: operations["smsGroupCreate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sms/admin/quota/groups/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read one group */
        get: operations["smsGroupGet"];
        /** Change a group's settings */
        put: operations["smsGroupUpdate"];
        post?: never;
        /** Delete a group without members, child groups and live quotas; it can be restored */
        delete: operations["smsGroupRemove"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sms/admin/quota/groups/{id}/caps/preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Tell what a shared cap would have refused of a group's members in the last days; nothing changes */
        post: operations["smsGroupCapTrial"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sms/admin/quota/groups/{id}/changes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the changes of a group's settings and members, newest first */
        get: operations["smsGroupChanges"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sms/admin/quota/groups/{id}/members": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the members of a group, ids ascending */
        get: operations["smsGroupMembers"];
        put?: never;
        /** Make owners members of a group; those in another group are moved */
        post: operations["smsGroupAddMembers"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sms/admin/quota/groups/{id}/members/{user_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** End the membership of an owner */
        delete: operations["smsGroupRemoveMember"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sms/admin/quota/groups/{id}/restore": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Restore a deleted group */
        post: operations["smsGroupRestore"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sms/admin/quota/groups/{id}/summary": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Add up a group's active shared quotas */
        get: operations["smsGroupSummary"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sms/admin/quota/import": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Create a change set from a CSV file */
        post: operations["smsChangeSetImport"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sms/admin/quota/list": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List quotas, newest first */
        get: operations["smsQuotaList"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sms/admin/quota/owners": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List all owners that ever had a quota */
        get: operations["smsOfficeOwners"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sms/admin/quota/owners/{user_id}/link": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Make a link to the page of an owner, which opens without a sign-in */
        post: operations["smsLinkCreate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sms/admin/quota/owners/{user_id}/links/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** End all links of an owner that were made before */
        post: operations["smsLinkRevoke"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sms/admin/quota/refusals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the refusals of a user, or of all, by hour, newest first */
        get: operations["smsOfficeRefusals"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sms/admin/quota/refusals/top": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the owners with most refusals */
        get: operations["smsOfficeTopRefusals"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sms/admin/quota/summary": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Add up a user's active quotas */
        get: operations["smsQuotaSummary"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sms/admin/quota/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read one quota */
        get: operations["smsQuotaGet"];
        /** Change a quota's settings */
        put: operations["smsQuotaUpdate"];
        post?: never;
        /** Delete a quota; it can be restored */
        delete: operations["smsQuotaRemove"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sms/admin/quota/{id}/changes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the changes of a quota's settings, newest first */
        get: operations["smsQuotaChanges"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sms/admin/quota/{id}/reset": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Reset a quota: set used and reserved to 0, keep the next reset */
        post: operations["smsQuotaReset"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sms/admin/quota/{id}/restore": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Restore a deleted quota */
        post: operations["smsQuotaRestore"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sms/quota/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List operations, newest first */
        get: operations["smsUsageList"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sms/quota/usage/check": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Check whether an amount can be consumed */
        get: operations["smsUsageCheck"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sms/quota/usage/consume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Spend units */
        post: operations["smsUsageConsume"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sms/quota/usage/consume/batch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Spend units, many at a time */
        post: operations["smsUsageConsumeBatch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sms/quota/usage/reserve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Reserve units for a limited time */
        post: operations["smsUsageReserve"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sms/quota/usage/series": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the usage by hour or by day, oldest first */
        get: operations["smsUsageSeries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sms/quota/usage/{operationId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read one operation */
        get: operations["smsUsageGet"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sms/quota/usage/{operationId}/acts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the acts on an operation, oldest first */
        get: operations["smsUsageActs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sms/quota/usage/{operationId}/commit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Spend the units of a hold */
        post: operations["smsUsageCommit"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sms/quota/usage/{operationId}/refund": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Return charged units */
        post: operations["smsUsageRefund"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sms/quota/usage/{operationId}/release": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Return a whole hold */
        post: operations["smsUsageRelease"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the principal of the token */
        get: operations["meShow"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quotas": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List quotas, newest first */
        get: operations["mailQuotaList"];
        put?: never;
        /** Create a quota */
        post: operations["mailQuotaCreate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quotas/caps/preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Tell what a cap would have refused of an account in the last days; nothing changes */
        post: operations["mailOfficeCapTrial"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quotas/change-sets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List change sets, newest first */
        get: operations["mailChangeSetList"];
        put?: never;
        /** Create a change set from a filter */
        post: operations["mailChangeSetCreate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quotas/change-sets/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read one change set */
        get: operations["mailChangeSetGet"];
        put?: never;
        post?: never;
        /** Drop a change set that was not applied */
        delete: operations["mailChangeSetRemove"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quotas/change-sets/{id}/apply": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Apply a change set */
        post: operations["mailChangeSetApply"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quotas/change-sets/{id}/revert": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Revert a change set */
        post: operations["mailChangeSetRevert"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quotas/change-sets/{id}/rows": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the rows of a change set, in order */
        get: operations["mailChangeSetRows"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quotas/change-sets/{id}/rows.csv": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Export the rows of a change set as CSV */
        get: operations["mailChangeSetRowsCsv"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quotas/changes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the changes of all quotas, newest first */
        get: operations["mailOfficeChanges"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quotas/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the events of quotas and owners, oldest first */
        get: operations["mailOfficeEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quotas/expiring": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the quotas that expire soon, soonest first */
        get: operations["mailOfficeExpiring"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quotas/export.csv": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Export a list of quotas as CSV, newest first */
        get: operations["mailChangeSetExport"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quotas/groups": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List groups, newest first */
        get: operations["mailGroupList"];
        put?: never;
        /** Create a group of owners */
        post: operations["mailGroupCreate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quotas/groups/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read one group */
        get: operations["mailGroupGet"];
        /** Change a group's settings */
        put: operations["mailGroupUpdate"];
        post?: never;
        /** Delete a group without members, child groups and live quotas; it can be restored */
        delete: operations["mailGroupRemove"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quotas/groups/{id}/caps/preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Tell what a shared cap would have refused of a group's members in the last days; nothing changes */
        post: operations["mailGroupCapTrial"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quotas/groups/{id}/changes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the changes of a group's settings and members, newest first */
        get: operations["mailGroupChanges"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quotas/groups/{id}/members": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the members of a group, ids ascending */
        get: operations["mailGroupMembers"];
        put?: never;
        /** Make owners members of a group; those in another group are moved */
        post: operations["mailGroupAddMembers"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quotas/groups/{id}/members/{account_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** End the membership of an owner */
        delete: operations["mailGroupRemoveMember"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quotas/groups/{id}/restore": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Restore a deleted group */
        post: operations["mailGroupRestore"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quotas/groups/{id}/summary": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Add up a group's active shared quotas */
        get: operations["mailGroupSummary"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quotas/import": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Create a change set from a CSV file */
        post: operations["mailChangeSetImport"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quotas/owners": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List all owners that ever had a quota */
        get: operations["mailOfficeOwners"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quotas/owners/{account_id}/link": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Make a link to the page of an owner, which opens without a sign-in */
        post: operations["mailLinkCreate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quotas/owners/{account_id}/links/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** End all links of an owner that were made before */
        post: operations["mailLinkRevoke"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quotas/refusals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the refusals of an account, or of all, by hour, newest first */
        get: operations["mailOfficeRefusals"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quotas/refusals/top": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the owners with most refusals */
        get: operations["mailOfficeTopRefusals"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quotas/summary/{accountID}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Add up an account's active quotas */
        get: operations["mailQuotaSummary"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quotas/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List operations, newest first */
        get: operations["mailUsageList"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quotas/usage/check": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Check whether an amount can be consumed */
        get: operations["mailUsageCheck"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quotas/usage/consume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Spend units */
        post: operations["mailUsageConsume"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quotas/usage/consume/batch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Spend units, many at a time */
        post: operations["mailUsageConsumeBatch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quotas/usage/reserve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Reserve units for a limited time */
        post: operations["mailUsageReserve"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quotas/usage/series": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the usage by hour or by day, oldest first */
        get: operations["mailUsageSeries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quotas/usage/{operationId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read one operation */
        get: operations["mailUsageGet"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quotas/usage/{operationId}/acts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the acts on an operation, oldest first */
        get: operations["mailUsageActs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quotas/usage/{operationId}/commit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Spend the units of a hold */
        post: operations["mailUsageCommit"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quotas/usage/{operationId}/refund": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Return charged units */
        post: operations["mailUsageRefund"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quotas/usage/{operationId}/release": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Return a whole hold */
        post: operations["mailUsageRelease"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quotas/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read one quota */
        get: operations["mailQuotaGet"];
        /** Change a quota's settings */
        put: operations["mailQuotaUpdate"];
        post?: never;
        /** Delete a quota; it can be restored */
        delete: operations["mailQuotaRemove"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quotas/{id}/changes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the changes of a quota's settings, newest first */
        get: operations["mailQuotaChanges"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quotas/{id}/reset": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Reset a quota: set used and reserved to 0, keep the next reset */
        post: operations["mailQuotaReset"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quotas/{id}/restore": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Restore a deleted quota */
        post: operations["mailQuotaRestore"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/view": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show the owner of a link what it has left */
        get: operations["viewShow"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the endpoints */
        get: operations["webhookList"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{name}/enable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Enable a disabled endpoint */
        post: operations["webhookEnable"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{name}/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Send the events of a period again */
        post: operations["webhookReplay"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{name}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Send a test message at once */
        post: operations["webhookTest"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        Act: {
            /**
             * @description The kind of act.
             * @example reserve
             * @enum {string}
             */
            kind: "consume" | "reserve" | "commit" | "release" | "refund";
            /**
             * @description Name of the principal.
             * @example mailer
             */
            actor: string;
            /**
             * Format: int64
             * @description Units spent, reserved, charged, or returned.
             * @example 5
             */
            amount: number;
            /**
             * @description The Idempotency-Key; null for commit and release.
             * @example msg-8841
             */
            idempotency_key: string | null;
            /**
             * @description The X-Request-Id of the request.
             * @example 01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d
             */
            request_id: string;
            /**
             * Format: date-time
             * @description Time of the act.
             * @example 2026-12-01T00:00:00.000Z
             */
            at: string;
        };
        Acts: {
            /** @description The acts, oldest first; at most 10,000. */
            items: components["schemas"]["Act"][];
        };
        Allocation: {
            /**
             * Format: int64
             * @description Id of the quota.
             * @example 12
             */
            quota_id: number;
            /**
             * Format: int64
             * @description Units drawn from it; units that returned later are not subtracted.
             * @example 5
             */
            amount: number;
        };
        Apply: {
            /**
             * Format: int64
             * @description The version of the change set that the caller read.
             * @example 2
             */
            version: number;
            /**
             * Format: int64
             * @description The number of `planned` rows that the caller read.
             * @example 40
             */
            rows: number;
        };
        BatchRefused: {
            /**
             * @description The HTTP status that the item would have as a separate request.
             * @example 400
             * @enum {integer}
             */
            status: 400 | 409 | 422 | 500 | 503;
            /** @description The problem. */
            problem: components["schemas"]["ValidationFailedProblem"] | components["schemas"]["QuotaExceededProblem"] | components["schemas"]["NoActiveQuotaProblem"] | components["schemas"]["TooManyNewOwnersProblem"] | components["schemas"]["IdempotencyKeyReusedProblem"] | components["schemas"]["InternalErrorProblem"] | components["schemas"]["UnavailableProblem"];
        };
        Cap: {
            /**
             * Format: int64
             * @description Id of the cap; null for a member's count that its first consume will create.
             * @example 9
             */
            id: number | null;
            /**
             * Format: int64
             * @description The group of the cap; null for a cap of the owner.
             * @example null
             */
            group_id: number | null;
            /**
             * @description `enforce`: refuses requests that exceed it. `observe`: only reports them.
             * @example enforce
             * @enum {string}
             */
            cap: "enforce" | "observe";
            /**
             * @description 1 (total): `total` units until `expire_at`. 2 (cycle): `total` units per cycle. 3 (rolling): `total` units in any window.
             * @example 3
             * @enum {integer}
             */
            quota_type: 1 | 2 | 3;
            /**
             * Format: int64
             * @description Its allowance.
             * @example 100
             */
            total: number;
            /**
             * Format: int64
             * @description Units spent that count now. Can exceed `total` in an observe cap.
             * @example 97
             */
            used: number;
            /**
             * Format: int64
             * @description Units reserved by open holds that count now.
             * @example 0
             */
            reserved: number;
            /**
             * Format: int64
             * @description Units that the cap still admits.
             * @example 3
             */
            remaining: number;
            /**
             * Format: date-time
             * @description When the cap next admits more units, before `expire_at`: its next reset or, for a rolling cap, the next boundary at which units leave the window. Null if there is none.
             * @example 2026-12-01T00:00:00.000Z
             */
            refills_at: string | null;
        };
        CapTrial: {
            /**
             * @description The period, in days of 24 hours until now.
             * @example 30
             */
            days: number;
            /**
             * Format: int64
             * @description Number of consumes and reserves in the period.
             * @example 812
             */
            operations: number;
            /** @description Those of them that the cap would have refused. It counts them nevertheless, as an `observe` cap does. */
            would_refuse: components["schemas"]["Refused"];
            /** @description The same by UTC day, oldest first; days without any are omitted. */
            by_day: components["schemas"]["RefusedOnDay"][];
            /**
             * @description False if only the newest 1,000,000 operations of at most 100,000 members are included, or operations of the period have been removed after their retention.
             * @example true
             */
            complete: boolean;
        };
        ChangeSet: {
            /**
             * Format: int64
             * @description Id of the change set; increases with time.
             * @example 5
             */
            id: number;
            /**
             * @description The current state.
             * @example ready
             * @enum {string}
             */
            state: "preparing" | "ready" | "applying" | "applied" | "reverting" | "reverted" | "failed";
            /**
             * @description The origin of its rows.
             * @example filter
             * @enum {string}
             */
            source: "filter" | "import";
            /**
             * @description The filter, as sent; null for an import.
             * @example {
             *       "label": "Spring"
             *     }
             */
            filter: {
                [key: string]: unknown;
            } | null;
            /**
             * @description The change, as sent; null for an import.
             * @example {
             *       "update": {
             *         "total": {
             *           "percent": 10
             *         }
             *       }
             *     }
             */
            change: {
                [key: string]: unknown;
            } | null;
            /**
             * @description Name of the principal that created it.
             * @example back-office
             */
            actor: string;
            /**
             * Format: int64
             * @description Starts at 1 and is incremented by each change of the state.
             * @example 2
             */
            version: number;
            /**
             * Format: date-time
             * @description Time of the creation.
             * @example 2026-12-01T00:00:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @description Time at which it was completely applied; null before.
             * @example null
             */
            applied_at: string | null;
            /**
             * Format: date-time
             * @description Time at which it was reverted; null before.
             * @example null
             */
            reverted_at: string | null;
            /** @description The numbers of rows; they change while it is applied or reverted. */
            counts: components["schemas"]["Counts"];
            /** @description The reason of the failure; present only in state `failed`. */
            problem?: components["schemas"]["RowProblem"];
        };
        /** @description The change set has a different number of rows. */
        ChangeSetDiffersProblem: {
            /**
             * Format: uri
             * @description The problem type. `about:blank`: `code` identifies it.
             * @constant
             */
            type: "about:blank";
            /** @description The title of the code; the same for every problem of the code. */
            title: string;
            /**
             * @description The HTTP status.
             * @constant
             */
            status: 409;
            /** @description Describes this occurrence of the problem. */
            detail: string;
            /**
             * @description Identifies the problem; stable.
             * @constant
             */
            code: "change_set_differs";
            /** @description The request's id, as in X-Request-Id; in an item of a batch, that of the batch. */
            request_id: string;
        };
        /** @description There is no such change set. */
        ChangeSetNotFoundProblem: {
            /**
             * Format: uri
             * @description The problem type. `about:blank`: `code` identifies it.
             * @constant
             */
            type: "about:blank";
            /** @description The title of the code; the same for every problem of the code. */
            title: string;
            /**
             * @description The HTTP status.
             * @constant
             */
            status: 404;
            /** @description Describes this occurrence of the problem. */
            detail: string;
            /**
             * @description Identifies the problem; stable.
             * @constant
             */
            code: "change_set_not_found";
            /** @description The request's id, as in X-Request-Id; in an item of a batch, that of the batch. */
            request_id: string;
        };
        /** @description The state of the change set does not allow it. */
        ChangeSetStateProblem: {
            /**
             * Format: uri
             * @description The problem type. `about:blank`: `code` identifies it.
             * @constant
             */
            type: "about:blank";
            /** @description The title of the code; the same for every problem of the code. */
            title: string;
            /**
             * @description The HTTP status.
             * @constant
             */
            status: 409;
            /** @description Describes this occurrence of the problem. */
            detail: string;
            /**
             * @description Identifies the problem; stable.
             * @constant
             */
            code: "change_set_state";
            /** @description The request's id, as in X-Request-Id; in an item of a batch, that of the batch. */
            request_id: string;
        };
        ChangeSetsPage: {
            /** @description The change sets. */
            items: components["schemas"]["ChangeSet"][];
            /**
             * Format: int64
             * @description Pass it as `before` to get the next page; null on the last page.
             * @example 5
             */
            next_before: number | null;
        };
        ChangedSettings: {
            /**
             * Format: int64
             * @description The allowance, in the caller's unit.
             * @example 1000
             */
            total?: number;
            /**
             * @description Whether an administrator disabled the quota.
             * @example active
             * @enum {string}
             */
            status?: "active" | "disabled";
            /**
             * Format: date-time
             * @description The time from which the quota is expired; null: never.
             * @example null
             */
            expire_at?: string | null;
            /**
             * @description The length of a cycle; null for types 1 (total) and 3 (rolling).
             * @example month
             * @enum {string|null}
             */
            cycle_unit?: "hour" | "day" | "week" | "month" | "year" | null;
            /**
             * Format: date-time
             * @description The next reset, even if it is after `expire_at`; null for types 1 (total) and 3 (rolling).
             * @example 2026-12-01T00:00:00.000Z
             */
            cycle_reset_at?: string | null;
            /**
             * @description The IANA time zone whose calendar the cycle follows, as sent; null for types 1 (total) and 3 (rolling).
             * @example UTC
             */
            cycle_time_zone?: string | null;
            /**
             * @description A name for people, as sent; null: none.
             * @example Spring campaign
             */
            label?: string | null;
            /**
             * @description Null: the quota pays. Otherwise it is a cap: `enforce` limits what the owner consumes, `observe` only reports what it would have refused.
             * @example null
             * @enum {string|null}
             */
            cap?: "enforce" | "observe" | null;
            /**
             * @description The window of a rolling cap, in seconds; null for types 1 (total) and 2 (cycle).
             * @example null
             */
            window_seconds?: number | null;
            /**
             * @description Percentages of `total` at which `used` causes an event, ascending; null for type 3 (rolling).
             * @example [
             *       50,
             *       80
             *     ]
             */
            thresholds?: number[] | null;
            /**
             * @description The settings of a member's count that are its own, if these changed.
             * @example [
             *       "total"
             *     ]
             */
            overrides?: ("total" | "status" | "expire_at" | "cycle_unit" | "cycle_reset_at" | "cycle_time_zone" | "label" | "cap" | "window_seconds" | "thresholds")[];
            /**
             * Format: date-time
             * @description Time of the deletion; null: not deleted.
             * @example 2026-12-01T00:00:00.000Z
             */
            deleted_at?: string | null;
            /**
             * @description The name of a group.
             * @example example.org
             */
            name?: string;
            /**
             * Format: int64
             * @description The group above a group.
             * @example 4
             */
            parent_id?: number | null;
            /**
             * @description Whether a group is the default group.
             * @example false
             */
            default?: boolean;
            /**
             * @description Owners that became members and were in no group, ascending.
             * @example [
             *       7,
             *       8
             *     ]
             */
            added?: number[];
            /**
             * @description Owners that became members, each with the group that it was in, ascending.
             * @example [
             *       [
             *         9,
             *         4
             *       ]
             *     ]
             */
            moved?: number[][];
            /**
             * @description Owners that are no longer members, ascending.
             * @example [
             *       7
             *     ]
             */
            removed?: number[];
            /**
             * Format: int64
             * @description Units spent; present after a reset or a change of the window, and in a create with an opening balance.
             * @example 20
             */
            used?: number;
            /**
             * Format: int64
             * @description Units reserved; present after a reset or a change of the window.
             * @example 5
             */
            reserved?: number;
        };
        Check: {
            /**
             * @description Whether the owner's active quotas can pay the amount together, and its caps admit it, at this time.
             * @example true
             */
            allowed: boolean;
            /**
             * Format: int64
             * @description The checked units.
             * @example 5
             */
            requested: number;
            /**
             * Format: int64
             * @description The largest amount that one consume can take: `payable`, limited by the remaining units of each enforce cap; 0 without an active quota that pays.
             * @example 975
             */
            remaining: number;
            /**
             * Format: int64
             * @description The units that the quotas can pay together, without caps.
             * @example 975
             */
            payable: number;
            /**
             * Format: date-time
             * @description The earliest time at which quotas and caps admit the amount if nothing is taken or settled until then: a reset, the end of a hold or of a cap, or a boundary of a rolling cap; null if it is allowed now or there is none.
             * @example null
             */
            refills_at: string | null;
            /**
             * @description The enforce caps that refuse the amount, by id; empty if it is allowed.
             * @example []
             */
            caps: components["schemas"]["Cap"][];
        };
        Commit: {
            /**
             * Format: int64
             * @description Units of the hold to spend; the others return. Default: all.
             * @example 5
             */
            amount?: number;
        };
        /** @description The amount exceeds the hold. */
        CommitExceedsHoldProblem: {
            /**
             * Format: uri
             * @description The problem type. `about:blank`: `code` identifies it.
             * @constant
             */
            type: "about:blank";
            /** @description The title of the code; the same for every problem of the code. */
            title: string;
            /**
             * @description The HTTP status.
             * @constant
             */
            status: 409;
            /** @description Describes this occurrence of the problem. */
            detail: string;
            /**
             * @description Identifies the problem; stable.
             * @constant
             */
            code: "commit_exceeds_hold";
            /** @description The request's id, as in X-Request-Id; in an item of a batch, that of the batch. */
            request_id: string;
            /**
             * Format: int64
             * @description The reserved units.
             */
            held: number;
        };
        Counts: {
            /**
             * Format: int64
             * @description The sum of the others, except in state `preparing`.
             * @example 40
             */
            rows: number;
            /**
             * Format: int64
             * @description Rows to be applied.
             * @example 38
             */
            planned: number;
            /**
             * Format: int64
             * @description Rows that change nothing.
             * @example 1
             */
            unchanged: number;
            /**
             * Format: int64
             * @description Rows whose change is not allowed.
             * @example 1
             */
            invalid: number;
            /**
             * Format: int64
             * @description Applied rows.
             * @example 0
             */
            applied: number;
            /**
             * Format: int64
             * @description Rows whose quota was changed or deleted meanwhile.
             * @example 0
             */
            conflict: number;
            /**
             * Format: int64
             * @description Reverted rows.
             * @example 0
             */
            reverted: number;
            /**
             * Format: int64
             * @description Rows that were not reverted, since that is not possible or the quota was edited since.
             * @example 0
             */
            kept: number;
        };
        CreateGroup: {
            /**
             * @description The name, in the form of a label. No other live group of the channel may have it; case is ignored.
             * @example example.org
             */
            name: string;
            /**
             * Format: int64
             * @description The group above; null or absent: none. A chain has at most three groups.
             * @example 4
             */
            parent_id?: number | null;
            /**
             * @description Makes it the group of every owner of the channel that is in none. There is at most one.
             * @default false
             * @example false
             */
            default?: boolean;
        };
        CreateLink: {
            /**
             * @description Lifetime of the link, in seconds.
             * @default 2592000
             * @example 2592000
             */
            ttl_seconds?: number;
        };
        CreateMailQuota: {
            /**
             * @description 1 (total): `total` units until `expire_at`. 2 (cycle): `total` units per cycle. 3 (rolling): `total` units in any `window_seconds`; only for caps.
             * @example 2
             * @enum {integer}
             */
            quota_type: 1 | 2 | 3;
            /**
             * Format: int64
             * @description The allowance, in the caller's unit; 0 … 10^12.
             * @example 1000
             */
            total: number;
            /**
             * Format: int64
             * @description The opening balance: units used elsewhere in the count that begins, 0 … `total`; of an observe cap 0 … 10^12. It belongs to no operation. Absent or null: 0. Not allowed with `per` `member`, whose counts begin at 0.
             * @example 0
             */
            used?: number | null;
            /**
             * Format: date-time
             * @description The time from which the quota is expired, in the future. Required for type 1 (total). Types 2 (cycle) and 3 (rolling): absent or null means never.
             * @example null
             */
            expire_at?: string | null;
            /**
             * @description The length of a cycle; required for type 2 (cycle), not allowed for others. An hour is elapsed time, the others follow the calendar in the quota's zone.
             * @example month
             * @enum {string|null}
             */
            cycle_unit?: "hour" | "day" | "week" | "month" | "year" | null;
            /**
             * Format: date-time
             * @description The first reset, in the future, and the anchor of all later ones; required for type 2 (cycle), not allowed for others.
             * @example 2099-12-01T00:00:00.000Z
             */
            cycle_reset_at?: string | null;
            /**
             * @description The IANA time zone whose calendar the cycle follows; only for type 2 (cycle). Default: `UTC`.
             * @example UTC
             */
            cycle_time_zone?: string | null;
            /**
             * @description A name for people, stored as sent. Absent or null: none.
             * @example Spring campaign
             */
            label?: string | null;
            /**
             * @description Makes the quota a cap, which never pays: `enforce` limits what the owner consumes, `observe` only reports what it would have refused. Absent or null: the quota pays.
             * @example null
             * @enum {string|null}
             */
            cap?: "enforce" | "observe" | null;
            /**
             * @description The window of a rolling cap, in seconds; required for type 3 (rolling), not allowed for others.
             * @example 86400
             */
            window_seconds?: number | null;
            /**
             * @description Percentages of `total` at which `used` causes an event. Default for types 1 (total) and 2 (cycle): none. Type 3 (rolling) has no thresholds: absent or null.
             * @example [
             *       50,
             *       80
             *     ]
             */
            thresholds?: number[] | null;
            /**
             * Format: int64
             * @description Makes it a quota of this group instead of an owner's.
             * @example 5
             */
            group_id?: number | null;
            /**
             * @description With `group_id` only. `group`: all members share one count. `member`: each member has a count of its own. Default: `group`.
             * @example group
             * @enum {string|null}
             */
            per?: "group" | "member" | null;
            /**
             * Format: int64
             * @description The mail account that the quota limits. Exactly one of it and `group_id` is required.
             * @example 7
             */
            account_id?: number;
            /**
             * Format: int64
             * @description The user who owns the account.
             * @example 3
             */
            user_id?: number | null;
        };
        CreateSmsQuota: {
            /**
             * @description 1 (total): `total` units until `expire_at`. 2 (cycle): `total` units per cycle. 3 (rolling): `total` units in any `window_seconds`; only for caps.
             * @example 2
             * @enum {integer}
             */
            quota_type: 1 | 2 | 3;
            /**
             * Format: int64
             * @description The allowance, in the caller's unit; 0 … 10^12.
             * @example 1000
             */
            total: number;
            /**
             * Format: int64
             * @description The opening balance: units used elsewhere in the count that begins, 0 … `total`; of an observe cap 0 … 10^12. It belongs to no operation. Absent or null: 0. Not allowed with `per` `member`, whose counts begin at 0.
             * @example 0
             */
            used?: number | null;
            /**
             * Format: date-time
             * @description The time from which the quota is expired, in the future. Required for type 1 (total). Types 2 (cycle) and 3 (rolling): absent or null means never.
             * @example null
             */
            expire_at?: string | null;
            /**
             * @description The length of a cycle; required for type 2 (cycle), not allowed for others. An hour is elapsed time, the others follow the calendar in the quota's zone.
             * @example month
             * @enum {string|null}
             */
            cycle_unit?: "hour" | "day" | "week" | "month" | "year" | null;
            /**
             * Format: date-time
             * @description The first reset, in the future, and the anchor of all later ones; required for type 2 (cycle), not allowed for others.
             * @example 2099-12-01T00:00:00.000Z
             */
            cycle_reset_at?: string | null;
            /**
             * @description The IANA time zone whose calendar the cycle follows; only for type 2 (cycle). Default: `UTC`.
             * @example UTC
             */
            cycle_time_zone?: string | null;
            /**
             * @description A name for people, stored as sent. Absent or null: none.
             * @example Spring campaign
             */
            label?: string | null;
            /**
             * @description Makes the quota a cap, which never pays: `enforce` limits what the owner consumes, `observe` only reports what it would have refused. Absent or null: the quota pays.
             * @example null
             * @enum {string|null}
             */
            cap?: "enforce" | "observe" | null;
            /**
             * @description The window of a rolling cap, in seconds; required for type 3 (rolling), not allowed for others.
             * @example 86400
             */
            window_seconds?: number | null;
            /**
             * @description Percentages of `total` at which `used` causes an event. Default for types 1 (total) and 2 (cycle): none. Type 3 (rolling) has no thresholds: absent or null.
             * @example [
             *       50,
             *       80
             *     ]
             */
            thresholds?: number[] | null;
            /**
             * Format: int64
             * @description Makes it a quota of this group instead of an owner's.
             * @example 5
             */
            group_id?: number | null;
            /**
             * @description With `group_id` only. `group`: all members share one count. `member`: each member has a count of its own. Default: `group`.
             * @example group
             * @enum {string|null}
             */
            per?: "group" | "member" | null;
            /**
             * Format: int64
             * @description The user whom the quota limits. Exactly one of it and `group_id` is required.
             * @example 7
             */
            user_id?: number;
        };
        /** @description The cursor is too old. */
        CursorExpiredProblem: {
            /**
             * Format: uri
             * @description The problem type. `about:blank`: `code` identifies it.
             * @constant
             */
            type: "about:blank";
            /** @description The title of the code; the same for every problem of the code. */
            title: string;
            /**
             * @description The HTTP status.
             * @constant
             */
            status: 410;
            /** @description Describes this occurrence of the problem. */
            detail: string;
            /**
             * @description Identifies the problem; stable.
             * @constant
             */
            code: "cursor_expired";
            /** @description The request's id, as in X-Request-Id; in an item of a batch, that of the batch. */
            request_id: string;
        };
        /** @description Another group is the default. */
        DefaultGroupTakenProblem: {
            /**
             * Format: uri
             * @description The problem type. `about:blank`: `code` identifies it.
             * @constant
             */
            type: "about:blank";
            /** @description The title of the code; the same for every problem of the code. */
            title: string;
            /**
             * @description The HTTP status.
             * @constant
             */
            status: 409;
            /** @description Describes this occurrence of the problem. */
            detail: string;
            /**
             * @description Identifies the problem; stable.
             * @constant
             */
            code: "default_group_taken";
            /** @description The request's id, as in X-Request-Id; in an item of a batch, that of the batch. */
            request_id: string;
        };
        FieldError: {
            /**
             * @description Name of the field in the request: `items[3].amount` within a batch, `body` for the body as a whole.
             * @example cycle_unit
             */
            field: string;
            /**
             * @description The mistake, or what the field accepts.
             * @example must be one of hour, day, week, month, year
             */
            message: string;
        };
        /** @description The token may not do this. */
        ForbiddenProblem: {
            /**
             * Format: uri
             * @description The problem type. `about:blank`: `code` identifies it.
             * @constant
             */
            type: "about:blank";
            /** @description The title of the code; the same for every problem of the code. */
            title: string;
            /**
             * @description The HTTP status.
             * @constant
             */
            status: 403;
            /** @description Describes this occurrence of the problem. */
            detail: string;
            /**
             * @description Identifies the problem; stable.
             * @constant
             */
            code: "forbidden";
            /** @description The request's id, as in X-Request-Id; in an item of a batch, that of the batch. */
            request_id: string;
        };
        Group: {
            /**
             * Format: int64
             * @description Id of the group.
             * @example 5
             */
            id: number;
            /**
             * @description The name, as sent.
             * @example example.org
             */
            name: string;
            /**
             * Format: int64
             * @description The group above; null: none.
             * @example null
             */
            parent_id: number | null;
            /**
             * @description Whether it is the group of every owner of the channel that is in none.
             * @example false
             */
            default: boolean;
            /**
             * Format: int64
             * @description Starts at 1 and is incremented by each edit of the settings, not by changes of members.
             * @example 1
             */
            version: number;
            /**
             * Format: date-time
             * @description Time of the creation.
             * @example 2026-12-01T00:00:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @description Time of the last edit, deletion or restore.
             * @example 2026-12-01T00:00:00.000Z
             */
            updated_at: string;
        };
        GroupCapTrial: {
            /**
             * @description 1 (total): `total` units in the whole period. 2 (cycle): `total` units per cycle. 3 (rolling): `total` units in any `window_seconds`.
             * @example 3
             * @enum {integer}
             */
            quota_type: 1 | 2 | 3;
            /**
             * Format: int64
             * @description The limit, in the caller's unit; 0 … 10^12.
             * @example 1000
             */
            total: number;
            /**
             * @description The window, in seconds; required for type 3 (rolling), not allowed for others.
             * @example 86400
             */
            window_seconds?: number | null;
            /**
             * @description The length of a cycle; required for type 2 (cycle), not allowed for others.
             * @example null
             * @enum {string|null}
             */
            cycle_unit?: "hour" | "day" | "week" | "month" | "year" | null;
            /**
             * Format: date-time
             * @description A reset, from which later ones are counted; required for type 2 (cycle), not allowed for others. It may be in the past: with one before the period, all cycles are whole; otherwise the first one lasts from the beginning of the period until this reset.
             * @example null
             */
            cycle_reset_at?: string | null;
            /**
             * @description The IANA time zone whose calendar the cycle follows; only for type 2 (cycle). Default: `UTC`.
             * @example null
             */
            cycle_time_zone?: string | null;
            /**
             * @description The period: so many days of 24 hours, until now.
             * @default 30
             * @example 30
             */
            days?: number;
        };
        /** @description Another group has this name. */
        GroupNameTakenProblem: {
            /**
             * Format: uri
             * @description The problem type. `about:blank`: `code` identifies it.
             * @constant
             */
            type: "about:blank";
            /** @description The title of the code; the same for every problem of the code. */
            title: string;
            /**
             * @description The HTTP status.
             * @constant
             */
            status: 409;
            /** @description Describes this occurrence of the problem. */
            detail: string;
            /**
             * @description Identifies the problem; stable.
             * @constant
             */
            code: "group_name_taken";
            /** @description The request's id, as in X-Request-Id; in an item of a batch, that of the batch. */
            request_id: string;
        };
        /** @description The group is not empty. */
        GroupNotEmptyProblem: {
            /**
             * Format: uri
             * @description The problem type. `about:blank`: `code` identifies it.
             * @constant
             */
            type: "about:blank";
            /** @description The title of the code; the same for every problem of the code. */
            title: string;
            /**
             * @description The HTTP status.
             * @constant
             */
            status: 409;
            /** @description Describes this occurrence of the problem. */
            detail: string;
            /**
             * @description Identifies the problem; stable.
             * @constant
             */
            code: "group_not_empty";
            /** @description The request's id, as in X-Request-Id; in an item of a batch, that of the batch. */
            request_id: string;
        };
        /** @description There is no such group. */
        GroupNotFoundProblem: {
            /**
             * Format: uri
             * @description The problem type. `about:blank`: `code` identifies it.
             * @constant
             */
            type: "about:blank";
            /** @description The title of the code; the same for every problem of the code. */
            title: string;
            /**
             * @description The HTTP status.
             * @constant
             */
            status: 404;
            /** @description Describes this occurrence of the problem. */
            detail: string;
            /**
             * @description Identifies the problem; stable.
             * @constant
             */
            code: "group_not_found";
            /** @description The request's id, as in X-Request-Id; in an item of a batch, that of the batch. */
            request_id: string;
        };
        GroupPage: {
            /**
             * Format: int64
             * @description Number of the page, from 1.
             * @example 1
             */
            page: number;
            /**
             * @description The requested size, 1 … 100.
             * @example 20
             */
            page_size: number;
            /**
             * Format: int64
             * @description Number of items in the whole list.
             * @example 57
             */
            total: number;
            /**
             * @description `exact` up to 10,000 items; above, the total is a count at most 60 seconds old.
             * @example exact
             * @enum {string}
             */
            total_relation: "exact" | "recent";
            /** @description The groups. */
            items: components["schemas"]["Group"][];
        };
        GroupSummary: {
            /**
             * Format: int64
             * @description The group.
             * @example 5
             */
            group_id: number | null;
            /**
             * Format: int64
             * @description The sum of the active quotas' totals.
             * @example 1500
             */
            total: number;
            /**
             * Format: int64
             * @description The sum of their `used`.
             * @example 20
             */
            used: number;
            /**
             * Format: int64
             * @description The sum of their `reserved`.
             * @example 5
             */
            reserved: number;
            /**
             * Format: int64
             * @description The sum of their `remaining`. After a `total` was lowered, it can exceed total - used - reserved.
             * @example 1475
             */
            remaining: number;
            /**
             * @description Number of active quotas that pay.
             * @example 2
             */
            quota_count: number;
            /**
             * Format: int64
             * @description The largest amount that one consume can take now, with the shared quotas of its groups: what the quotas pay, limited by the remaining units of each enforce cap; 0 without an active quota that pays.
             * @example 1475
             */
            available: number;
            /**
             * @description The active caps, with those of its groups, ids ascending.
             * @example []
             */
            caps: components["schemas"]["Cap"][];
            /**
             * Format: int64
             * @description Number of members by name.
             * @example 1204
             */
            members: number;
            /**
             * @description `exact` up to 10,000 members; above, the number is at most 60 seconds old.
             * @example exact
             * @enum {string}
             */
            members_relation: "exact" | "recent";
        };
        /** @description The Idempotency-Key is not valid. */
        IdempotencyKeyInvalidProblem: {
            /**
             * Format: uri
             * @description The problem type. `about:blank`: `code` identifies it.
             * @constant
             */
            type: "about:blank";
            /** @description The title of the code; the same for every problem of the code. */
            title: string;
            /**
             * @description The HTTP status.
             * @constant
             */
            status: 400;
            /** @description Describes this occurrence of the problem. */
            detail: string;
            /**
             * @description Identifies the problem; stable.
             * @constant
             */
            code: "idempotency_key_invalid";
            /** @description The request's id, as in X-Request-Id; in an item of a batch, that of the batch. */
            request_id: string;
        };
        /** @description An Idempotency-Key is needed. */
        IdempotencyKeyMissingProblem: {
            /**
             * Format: uri
             * @description The problem type. `about:blank`: `code` identifies it.
             * @constant
             */
            type: "about:blank";
            /** @description The title of the code; the same for every problem of the code. */
            title: string;
            /**
             * @description The HTTP status.
             * @constant
             */
            status: 400;
            /** @description Describes this occurrence of the problem. */
            detail: string;
            /**
             * @description Identifies the problem; stable.
             * @constant
             */
            code: "idempotency_key_missing";
            /** @description The request's id, as in X-Request-Id; in an item of a batch, that of the batch. */
            request_id: string;
        };
        /** @description The Idempotency-Key belongs to another request. */
        IdempotencyKeyReusedProblem: {
            /**
             * Format: uri
             * @description The problem type. `about:blank`: `code` identifies it.
             * @constant
             */
            type: "about:blank";
            /** @description The title of the code; the same for every problem of the code. */
            title: string;
            /**
             * @description The HTTP status.
             * @constant
             */
            status: 422;
            /** @description Describes this occurrence of the problem. */
            detail: string;
            /**
             * @description Identifies the problem; stable.
             * @constant
             */
            code: "idempotency_key_reused";
            /** @description The request's id, as in X-Request-Id; in an item of a batch, that of the batch. */
            request_id: string;
        };
        /** @description The service has failed. */
        InternalErrorProblem: {
            /**
             * Format: uri
             * @description The problem type. `about:blank`: `code` identifies it.
             * @constant
             */
            type: "about:blank";
            /** @description The title of the code; the same for every problem of the code. */
            title: string;
            /**
             * @description The HTTP status.
             * @constant
             */
            status: 500;
            /** @description Describes this occurrence of the problem. */
            detail: string;
            /**
             * @description Identifies the problem; stable.
             * @constant
             */
            code: "internal_error";
            /** @description The request's id, as in X-Request-Id; in an item of a batch, that of the batch. */
            request_id: string;
        };
        Link: {
            /**
             * Format: uri
             * @description Address of the page. What follows `#` is the link's token: whoever has it sees the owner's view. The service does not store it.
             * @example https://quota.example.com/view/#ql.mail.7.1798761600000.0.c2lnbmF0dXJl
             */
            url: string;
            /**
             * Format: date-time
             * @description The time from which the link opens nothing.
             * @example 2026-12-01T00:00:00.000Z
             */
            expires_at: string;
        };
        Live: {
            /**
             * @description Always `ok`.
             * @example ok
             * @enum {string}
             */
            status: "ok";
        };
        MadeBy: {
            /**
             * @description Name of the principal that consumed or reserved.
             * @example mailer
             */
            actor: string;
            /**
             * @description The Idempotency-Key.
             * @example msg-8841
             */
            idempotency_key: string | null;
        };
        MailAddMembers: {
            /**
             * @description 1 … 1000 different accounts. Those in another group are moved.
             * @example [
             *       7,
             *       8
             *     ]
             */
            account_ids: number[];
        };
        MailBatch: {
            /** @description 1 … 1000 consumes, processed in order. */
            items: components["schemas"]["MailBatchItem"][];
        };
        MailBatchAnswer: {
            /** @description The results. */
            results: (components["schemas"]["MailBatchDone"] | components["schemas"]["BatchRefused"])[];
        };
        MailBatchDone: {
            /**
             * @description The HTTP status that the item would have as a separate request.
             * @example 200
             * @enum {integer}
             */
            status: 200;
            /**
             * @description Whether this is a replay of an earlier answer.
             * @example false
             */
            replayed: boolean;
            /** @description The operation. */
            operation: components["schemas"]["MailOperation"];
        };
        MailBatchItem: {
            /**
             * Format: int64
             * @description Units to spend, all or none.
             * @example 5
             */
            amount: number;
            /**
             * @description The item's own Idempotency-Key.
             * @example msg-8841
             */
            idempotency_key: string;
            /**
             * Format: int64
             * @description The owner whose quotas pay.
             * @example 7
             */
            account_id: number;
        };
        MailCapTrial: {
            /**
             * @description 1 (total): `total` units in the whole period. 2 (cycle): `total` units per cycle. 3 (rolling): `total` units in any `window_seconds`.
             * @example 3
             * @enum {integer}
             */
            quota_type: 1 | 2 | 3;
            /**
             * Format: int64
             * @description The limit, in the caller's unit; 0 … 10^12.
             * @example 1000
             */
            total: number;
            /**
             * @description The window, in seconds; required for type 3 (rolling), not allowed for others.
             * @example 86400
             */
            window_seconds?: number | null;
            /**
             * @description The length of a cycle; required for type 2 (cycle), not allowed for others.
             * @example null
             * @enum {string|null}
             */
            cycle_unit?: "hour" | "day" | "week" | "month" | "year" | null;
            /**
             * Format: date-time
             * @description A reset, from which later ones are counted; required for type 2 (cycle), not allowed for others. It may be in the past: with one before the period, all cycles are whole; otherwise the first one lasts from the beginning of the period until this reset.
             * @example null
             */
            cycle_reset_at?: string | null;
            /**
             * @description The IANA time zone whose calendar the cycle follows; only for type 2 (cycle). Default: `UTC`.
             * @example null
             */
            cycle_time_zone?: string | null;
            /**
             * @description The period: so many days of 24 hours, until now.
             * @default 30
             * @example 30
             */
            days?: number;
            /**
             * Format: int64
             * @description The account.
             * @example 7
             */
            account_id: number;
        };
        MailChange: {
            /**
             * Format: int64
             * @description Id of the change; increases with time.
             * @example 31
             */
            id: number;
            /**
             * Format: int64
             * @description Id of the quota; absent in a change of a group, and in the erasure of an owner.
             * @example 12
             */
            quota_id?: number;
            /**
             * Format: int64
             * @description The changed group, or the group of the quota; null: none.
             * @example null
             */
            group_id: number | null;
            /**
             * @description The action.
             * @example update
             * @enum {string}
             */
            action: "create" | "update" | "delete" | "restore" | "reset" | "members" | "erase";
            /**
             * @description Name of the principal that made the change; `(erased)` if that was an owner that was erased.
             * @example back-office
             */
            actor: string;
            /**
             * @description The X-Request-Id of the request; `(erased)` if the owner was erased since.
             * @example 01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d
             */
            request_id: string;
            /**
             * Format: date-time
             * @description Time of the change.
             * @example 2026-12-01T00:00:00.000Z
             */
            at: string;
            /** @description The changed members before; empty for a create. */
            before: components["schemas"]["ChangedSettings"];
            /** @description The changed members after. */
            after: components["schemas"]["ChangedSettings"];
            /**
             * Format: int64
             * @description Id of the change set that made the change; absent otherwise.
             * @example 5
             */
            change_set_id?: number;
            /**
             * Format: int64
             * @description The owner of the quota; null for a quota of a group, absent in a change of a group.
             * @example 7
             */
            account_id?: number | null;
        };
        MailChangeEvent: {
            /**
             * Format: uuid
             * @description Id of the event, a UUIDv7.
             * @example 01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d
             */
            id: string;
            /**
             * Format: date-time
             * @description Time of the event.
             * @example 2026-12-01T00:00:00.000Z
             */
            at: string;
            /**
             * Format: int64
             * @description The group of the quota, or the one that the owner belonged to then; null: none.
             * @example null
             */
            group_id: number | null;
            /**
             * Format: int64
             * @description Id of the quota.
             * @example 12
             */
            quota_id: number;
            /**
             * @description The type of event.
             * @example quota.created
             * @enum {string}
             */
            type: "quota.created" | "quota.updated" | "quota.deleted" | "quota.restored" | "quota.reset";
            /**
             * Format: int64
             * @description The owner of the quota; null for a quota of a group.
             * @example 7
             */
            account_id: number | null;
            /** @description The change. */
            data: components["schemas"]["MailChange"];
        };
        MailChangeFilter: {
            /**
             * @description Returns only quotas that have this status now.
             * @example active
             * @enum {string}
             */
            status?: "active" | "disabled" | "expired" | "left";
            /**
             * @description Returns only caps of this kind; `none`: only quotas that pay.
             * @example enforce
             * @enum {string}
             */
            cap?: "enforce" | "observe" | "none";
            /**
             * Format: int64
             * @description Returns only the quotas of this group, not the counts of its members.
             * @example 5
             */
            group_id?: number;
            /**
             * Format: int64
             * @description Returns only the counts of members that follow this quota.
             * @example 12
             */
            follows?: number;
            /**
             * @description Returns only quotas whose label begins with this text. Case is ignored, accents are not; there are no wildcards.
             * @example Spring
             */
            label?: string;
            /**
             * Format: int64
             * @description Returns only quotas of this account.
             * @example 7
             */
            account_id?: number;
            /**
             * Format: int64
             * @description Only those that name this user.
             * @example 3
             */
            user_id?: number;
            /**
             * @description Selects all quotas. Cannot be combined with other conditions.
             * @example true
             * @enum {boolean}
             */
            all?: true;
            /**
             * @description Selects only quotas with these ids. Ids that no live quota has are skipped.
             * @example [
             *       7,
             *       8
             *     ]
             */
            ids?: number[];
        };
        MailChangePage: {
            /**
             * Format: int64
             * @description Number of the page, from 1.
             * @example 1
             */
            page: number;
            /**
             * @description The requested size, 1 … 100.
             * @example 20
             */
            page_size: number;
            /**
             * Format: int64
             * @description Number of items in the whole list.
             * @example 57
             */
            total: number;
            /**
             * @description `exact` up to 10,000 items; above, the total is a count at most 60 seconds old.
             * @example exact
             * @enum {string}
             */
            total_relation: "exact" | "recent";
            /** @description The changes. */
            items: components["schemas"]["MailChange"][];
        };
        MailChangeSetRow: {
            /**
             * Format: int64
             * @description Number of the row, from 1, in order of `quota_id` or of the file.
             * @example 1
             */
            row: number;
            /**
             * Format: int64
             * @description The line of the file where the record begins; null without a file.
             * @example null
             */
            line: number | null;
            /**
             * Format: int64
             * @description Id of the quota; null before it is created, and if the record names none.
             * @example 12
             */
            quota_id: number | null;
            /**
             * @description The label of the quota at the time of reading; null if it has none, and if `quota_id` is null. Present only with
             *     `labels=true`.
             * @example Spring campaign
             */
            label?: string | null;
            /**
             * @description The action.
             * @example update
             * @enum {string}
             */
            action: "create" | "update" | "delete" | "reset";
            /**
             * @description The outcome.
             * @example planned
             * @enum {string}
             */
            outcome: "planned" | "unchanged" | "invalid" | "applied" | "conflict" | "reverted" | "kept";
            /** @description The changed members before; empty if nothing changes. */
            before: components["schemas"]["ChangedSettings"];
            /** @description The changed members after. */
            after: components["schemas"]["ChangedSettings"];
            /** @description The reason why the row was not applied or reverted; null otherwise. */
            problem: components["schemas"]["RowProblem"] | null;
            /**
             * Format: int64
             * @description The owner of the quota; null if the record names none.
             * @example 7
             */
            account_id: number | null;
        };
        MailChangeSetRowsPage: {
            /**
             * Format: int64
             * @description Pass it as `after` to get the next page; null on the last page.
             * @example 100
             */
            next_after: number | null;
            /** @description The rows. */
            items: components["schemas"]["MailChangeSetRow"][];
        };
        MailChangesPage: {
            /**
             * Format: int64
             * @description Pass it as `before` to get the next page; null on the last page.
             * @example 31
             */
            next_before: number | null;
            /** @description The changes. */
            items: components["schemas"]["MailChange"][];
        };
        MailConsume: {
            /**
             * Format: int64
             * @description Units to spend, all or none.
             * @example 5
             */
            amount: number;
            /**
             * Format: int64
             * @description The owner whose quotas pay.
             * @example 7
             */
            account_id: number;
        };
        MailEventsPage: {
            /**
             * @description Pass it as `after` to continue, at once or later; never null. An empty page is the current end of the feed.
             * @example e1841
             */
            next_after: string;
            /** @description The events. */
            items: (components["schemas"]["MailThresholdEvent"] | components["schemas"]["MailChangeEvent"] | components["schemas"]["MailOwnerEvent"])[];
        };
        MailExpiringPage: {
            /**
             * @description Pass it as `cursor` to get the next page; null on the last page.
             * @example 1798761600000.12
             */
            next_cursor: string | null;
            /** @description The quotas. */
            items: components["schemas"]["MailQuota"][];
        };
        MailLedgerPage: {
            /**
             * Format: uuid
             * @description Pass it as `before` to get the next page; null on the last page. With the scope `own`, a page may have few or no operations and still have a next page.
             * @example 01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d
             */
            next_before: string | null;
            /**
             * Format: date-time
             * @description The time from which the ledger is complete; operations settled before may have been removed. Absent if nothing was removed.
             * @example 2026-12-01T00:00:00.000Z
             */
            begins_at?: string;
            /** @description The operations. */
            items: components["schemas"]["MailListedOperation"][];
        };
        MailListedOperation: {
            /**
             * Format: uuid
             * @description Id of the operation, a UUIDv7; increases with time.
             * @example 01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d
             */
            id: string;
            /**
             * @description The kind of operation.
             * @example consume
             * @enum {string}
             */
            kind: "consume" | "reserve";
            /**
             * @description The current state.
             * @example consumed
             * @enum {string}
             */
            state: "consumed" | "reserved" | "committed" | "released" | "expired";
            /**
             * Format: int64
             * @description Requested units.
             * @example 5
             */
            amount: number;
            /**
             * Format: int64
             * @description Units spent, gross; 0 while a hold is open.
             * @example 5
             */
            charged: number;
            /**
             * Format: int64
             * @description Units of `charged` that returned.
             * @example 0
             */
            refunded: number;
            /** @description The units drawn from each quota, in draw-down order. */
            allocations: components["schemas"]["Allocation"][];
            /**
             * @description Ids of the caps that counted the operation with its whole amount, ascending; absent if there are none.
             * @example [
             *       9,
             *       10
             *     ]
             */
            caps?: number[];
            /**
             * @description Ids of those observe caps that would have refused it. Only in the first answer and its replays; absent if there are none.
             * @example [
             *       10
             *     ]
             */
            would_refuse?: number[];
            /**
             * Format: int64
             * @description The largest amount that the owner could consume right after the operation's last act.
             * @example 970
             */
            owner_remaining: number;
            /**
             * Format: date-time
             * @description Expiry of the hold; null for a consume.
             * @example null
             */
            expires_at: string | null;
            /**
             * Format: date-time
             * @description Time of the creation.
             * @example 2026-12-01T00:00:00.000Z
             */
            created_at: string;
            /**
             * Format: int64
             * @description The owner whose quotas pay.
             * @example 7
             */
            account_id: number;
            /** @description The principal and the key. Present only with `made_by=true`. */
            made_by?: components["schemas"]["MadeBy"];
        };
        MailListedQuota: {
            /**
             * Format: int64
             * @description Id of the quota.
             * @example 12
             */
            id: number;
            /**
             * @description 1 (total): `total` units until `expire_at`. 2 (cycle): `total` units per cycle. 3 (rolling): `total` units in any `window_seconds`; only caps.
             * @example 2
             * @enum {integer}
             */
            quota_type: 1 | 2 | 3;
            /**
             * Format: int64
             * @description The allowance, in the caller's unit.
             * @example 1000
             */
            total: number;
            /**
             * Format: int64
             * @description Units spent: type 2 (cycle) in the current cycle, type 3 (rolling) in the window. Can exceed `total` in an observe cap.
             * @example 20
             */
            used: number;
            /**
             * Format: int64
             * @description Units reserved by open holds.
             * @example 5
             */
            reserved: number;
            /**
             * Format: int64
             * @description max(0, total - used - reserved)
             * @example 975
             */
            remaining: number;
            /**
             * @description The status at the time of reading: `left` if it is a member's count whose group is no longer in the owner's chain, otherwise `disabled` if an administrator disabled the quota, otherwise `expired` from `expire_at` on, otherwise `active`.
             * @example active
             * @enum {string}
             */
            status: "active" | "disabled" | "expired" | "left";
            /**
             * Format: date-time
             * @description The time from which the quota is expired; null: never.
             * @example null
             */
            expire_at: string | null;
            /**
             * @description The length of a cycle; null for types 1 (total) and 3 (rolling).
             * @example month
             * @enum {string|null}
             */
            cycle_unit: "hour" | "day" | "week" | "month" | "year" | null;
            /**
             * Format: date-time
             * @description The next reset, even if it is after `expire_at`; null for types 1 (total) and 3 (rolling).
             * @example 2026-12-01T00:00:00.000Z
             */
            cycle_reset_at: string | null;
            /**
             * Format: date-time
             * @description Reset number 0, from which all others are counted; null for types 1 (total) and 3 (rolling).
             * @example 2026-12-01T00:00:00.000Z
             */
            cycle_anchor_at: string | null;
            /**
             * @description The IANA time zone whose calendar the cycle follows, as sent; null for types 1 (total) and 3 (rolling).
             * @example UTC
             */
            cycle_time_zone: string | null;
            /**
             * @description A name for people, as sent; null: none.
             * @example Spring campaign
             */
            label: string | null;
            /**
             * @description Null: the quota pays. Otherwise it is a cap: `enforce` limits what the owner consumes, `observe` only reports what it would have refused.
             * @example null
             * @enum {string|null}
             */
            cap: "enforce" | "observe" | null;
            /**
             * @description The window of a rolling cap, in seconds; null for types 1 (total) and 2 (cycle).
             * @example null
             */
            window_seconds: number | null;
            /**
             * @description Percentages of `total` at which `used` causes an event, ascending; null for type 3 (rolling).
             * @example [
             *       50,
             *       80
             *     ]
             */
            thresholds: number[] | null;
            /**
             * Format: int64
             * @description The group of a group's quota, and of a member's count; null for an owner's own quota.
             * @example null
             */
            group_id: number | null;
            /**
             * @description `group`: all members of the group share it. `member`: each has a count of its own. Null for an owner's own quota.
             * @example null
             * @enum {string|null}
             */
            per: "group" | "member" | null;
            /**
             * Format: int64
             * @description The quota whose settings this count of a member follows; null for every other quota.
             * @example null
             */
            follows: number | null;
            /**
             * @description The settings of a member's count that do not follow, ascending; null for every other quota.
             * @example null
             */
            overrides: ("total" | "status" | "expire_at" | "cycle_unit" | "cycle_reset_at" | "cycle_time_zone" | "label" | "cap" | "window_seconds" | "thresholds")[] | null;
            /**
             * Format: int64
             * @description Starts at 1 and is incremented by each edit of the settings, not by usage.
             * @example 3
             */
            version: number;
            /**
             * Format: date-time
             * @description Time of the creation.
             * @example 2026-12-01T00:00:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @description Time of the last edit, deletion, restore or reset; usage does not change it.
             * @example 2026-12-01T00:00:00.000Z
             */
            updated_at: string;
            /**
             * Format: int64
             * @description The mail account that the quota limits. Null for a quota of a group.
             * @example 7
             */
            account_id: number | null;
            /**
             * Format: int64
             * @description The user who owns the account; null where the create named none.
             * @example 3
             */
            user_id: number | null;
            /**
             * Format: date-time
             * @description Time of the deletion. Present only with `deleted=true`.
             * @example 2026-12-01T00:00:00.000Z
             */
            deleted_at?: string;
        };
        MailMember: {
            /**
             * Format: date-time
             * @description The time since which it is a member of this group.
             * @example 2026-12-01T00:00:00.000Z
             */
            since: string;
            /**
             * Format: int64
             * @description The account.
             * @example 7
             */
            account_id: number;
        };
        MailMembersPage: {
            /**
             * Format: int64
             * @description Pass it as `after` to get the next page; null on the last page.
             * @example 7
             */
            next_after: number | null;
            /** @description The members, ids ascending. */
            items: components["schemas"]["MailMember"][];
        };
        MailOperation: {
            /**
             * Format: uuid
             * @description Id of the operation, a UUIDv7; increases with time.
             * @example 01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d
             */
            id: string;
            /**
             * @description The kind of operation.
             * @example consume
             * @enum {string}
             */
            kind: "consume" | "reserve";
            /**
             * @description The current state.
             * @example consumed
             * @enum {string}
             */
            state: "consumed" | "reserved" | "committed" | "released" | "expired";
            /**
             * Format: int64
             * @description Requested units.
             * @example 5
             */
            amount: number;
            /**
             * Format: int64
             * @description Units spent, gross; 0 while a hold is open.
             * @example 5
             */
            charged: number;
            /**
             * Format: int64
             * @description Units of `charged` that returned.
             * @example 0
             */
            refunded: number;
            /** @description The units drawn from each quota, in draw-down order. */
            allocations: components["schemas"]["Allocation"][];
            /**
             * @description Ids of the caps that counted the operation with its whole amount, ascending; absent if there are none.
             * @example [
             *       9,
             *       10
             *     ]
             */
            caps?: number[];
            /**
             * @description Ids of those observe caps that would have refused it. Only in the first answer and its replays; absent if there are none.
             * @example [
             *       10
             *     ]
             */
            would_refuse?: number[];
            /**
             * Format: int64
             * @description The largest amount that the owner could consume right after the operation's last act.
             * @example 970
             */
            owner_remaining: number;
            /**
             * Format: date-time
             * @description Expiry of the hold; null for a consume.
             * @example null
             */
            expires_at: string | null;
            /**
             * Format: date-time
             * @description Time of the creation.
             * @example 2026-12-01T00:00:00.000Z
             */
            created_at: string;
            /**
             * Format: int64
             * @description The owner whose quotas pay.
             * @example 7
             */
            account_id: number;
        };
        MailOwner: {
            /**
             * Format: int64
             * @description The group to which the owner belongs, or the default group; null: none.
             * @example null
             */
            group_id: number | null;
            /**
             * Format: int64
             * @description The sum of the active quotas' totals.
             * @example 1500
             */
            total: number;
            /**
             * Format: int64
             * @description The sum of their `used`.
             * @example 20
             */
            used: number;
            /**
             * Format: int64
             * @description The sum of their `reserved`.
             * @example 5
             */
            reserved: number;
            /**
             * Format: int64
             * @description The sum of their `remaining`. After a `total` was lowered, it can exceed total - used - reserved.
             * @example 1475
             */
            remaining: number;
            /**
             * @description Number of active quotas that pay.
             * @example 2
             */
            quota_count: number;
            /**
             * Format: int64
             * @description The largest amount that one consume can take now, with the shared quotas of its groups: what the quotas pay, limited by the remaining units of each enforce cap; 0 without an active quota that pays.
             * @example 1475
             */
            available: number;
            /**
             * Format: int64
             * @description The account.
             * @example 7
             */
            account_id: number;
        };
        MailOwnerEvent: {
            /**
             * Format: uuid
             * @description Id of the event, a UUIDv7.
             * @example 01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d
             */
            id: string;
            /**
             * Format: date-time
             * @description Time of the event.
             * @example 2026-12-01T00:00:00.000Z
             */
            at: string;
            /**
             * Format: int64
             * @description The group of the quota, or the one that the owner belonged to then; null: none.
             * @example null
             */
            group_id: number | null;
            /**
             * @description The type of event.
             * @example owner.refused
             * @enum {string}
             */
            type: "owner.refused" | "owner.recovered";
            /**
             * @description Always null: the event is about the owner.
             * @example null
             */
            quota_id: null;
            /** @description The refusals. */
            data: components["schemas"]["RefusedSpell"];
            /**
             * Format: int64
             * @description The account.
             * @example 7
             */
            account_id: number;
        };
        MailOwnersPage: {
            /**
             * Format: int64
             * @description Pass it as `after` to get the next page; null on the last page.
             * @example 7
             */
            next_after: number | null;
            /** @description The owners, each with the sums of its active quotas. */
            items: components["schemas"]["MailOwner"][];
        };
        MailQuota: {
            /**
             * Format: int64
             * @description Id of the quota.
             * @example 12
             */
            id: number;
            /**
             * @description 1 (total): `total` units until `expire_at`. 2 (cycle): `total` units per cycle. 3 (rolling): `total` units in any `window_seconds`; only caps.
             * @example 2
             * @enum {integer}
             */
            quota_type: 1 | 2 | 3;
            /**
             * Format: int64
             * @description The allowance, in the caller's unit.
             * @example 1000
             */
            total: number;
            /**
             * Format: int64
             * @description Units spent: type 2 (cycle) in the current cycle, type 3 (rolling) in the window. Can exceed `total` in an observe cap.
             * @example 20
             */
            used: number;
            /**
             * Format: int64
             * @description Units reserved by open holds.
             * @example 5
             */
            reserved: number;
            /**
             * Format: int64
             * @description max(0, total - used - reserved)
             * @example 975
             */
            remaining: number;
            /**
             * @description The status at the time of reading: `left` if it is a member's count whose group is no longer in the owner's chain, otherwise `disabled` if an administrator disabled the quota, otherwise `expired` from `expire_at` on, otherwise `active`.
             * @example active
             * @enum {string}
             */
            status: "active" | "disabled" | "expired" | "left";
            /**
             * Format: date-time
             * @description The time from which the quota is expired; null: never.
             * @example null
             */
            expire_at: string | null;
            /**
             * @description The length of a cycle; null for types 1 (total) and 3 (rolling).
             * @example month
             * @enum {string|null}
             */
            cycle_unit: "hour" | "day" | "week" | "month" | "year" | null;
            /**
             * Format: date-time
             * @description The next reset, even if it is after `expire_at`; null for types 1 (total) and 3 (rolling).
             * @example 2026-12-01T00:00:00.000Z
             */
            cycle_reset_at: string | null;
            /**
             * Format: date-time
             * @description Reset number 0, from which all others are counted; null for types 1 (total) and 3 (rolling).
             * @example 2026-12-01T00:00:00.000Z
             */
            cycle_anchor_at: string | null;
            /**
             * @description The IANA time zone whose calendar the cycle follows, as sent; null for types 1 (total) and 3 (rolling).
             * @example UTC
             */
            cycle_time_zone: string | null;
            /**
             * @description A name for people, as sent; null: none.
             * @example Spring campaign
             */
            label: string | null;
            /**
             * @description Null: the quota pays. Otherwise it is a cap: `enforce` limits what the owner consumes, `observe` only reports what it would have refused.
             * @example null
             * @enum {string|null}
             */
            cap: "enforce" | "observe" | null;
            /**
             * @description The window of a rolling cap, in seconds; null for types 1 (total) and 2 (cycle).
             * @example null
             */
            window_seconds: number | null;
            /**
             * @description Percentages of `total` at which `used` causes an event, ascending; null for type 3 (rolling).
             * @example [
             *       50,
             *       80
             *     ]
             */
            thresholds: number[] | null;
            /**
             * Format: int64
             * @description The group of a group's quota, and of a member's count; null for an owner's own quota.
             * @example null
             */
            group_id: number | null;
            /**
             * @description `group`: all members of the group share it. `member`: each has a count of its own. Null for an owner's own quota.
             * @example null
             * @enum {string|null}
             */
            per: "group" | "member" | null;
            /**
             * Format: int64
             * @description The quota whose settings this count of a member follows; null for every other quota.
             * @example null
             */
            follows: number | null;
            /**
             * @description The settings of a member's count that do not follow, ascending; null for every other quota.
             * @example null
             */
            overrides: ("total" | "status" | "expire_at" | "cycle_unit" | "cycle_reset_at" | "cycle_time_zone" | "label" | "cap" | "window_seconds" | "thresholds")[] | null;
            /**
             * Format: int64
             * @description Starts at 1 and is incremented by each edit of the settings, not by usage.
             * @example 3
             */
            version: number;
            /**
             * Format: date-time
             * @description Time of the creation.
             * @example 2026-12-01T00:00:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @description Time of the last edit, deletion, restore or reset; usage does not change it.
             * @example 2026-12-01T00:00:00.000Z
             */
            updated_at: string;
            /**
             * Format: int64
             * @description The mail account that the quota limits. Null for a quota of a group.
             * @example 7
             */
            account_id: number | null;
            /**
             * Format: int64
             * @description The user who owns the account; null where the create named none.
             * @example 3
             */
            user_id: number | null;
        };
        MailQuotaPage: {
            /**
             * Format: int64
             * @description Number of the page, from 1.
             * @example 1
             */
            page: number;
            /**
             * @description The requested size, 1 … 100.
             * @example 20
             */
            page_size: number;
            /**
             * Format: int64
             * @description Number of items in the whole list.
             * @example 57
             */
            total: number;
            /**
             * @description `exact` up to 10,000 items; above, the total is a count at most 60 seconds old.
             * @example exact
             * @enum {string}
             */
            total_relation: "exact" | "recent";
            /** @description The quotas. */
            items: components["schemas"]["MailListedQuota"][];
        };
        MailReserve: {
            /**
             * Format: int64
             * @description Units to reserve, all or none.
             * @example 5
             */
            amount: number;
            /**
             * @description The duration of the hold, in seconds, unless it is settled earlier.
             * @default 600
             * @example 600
             */
            ttl_seconds?: number;
            /**
             * Format: int64
             * @description The owner whose quotas hold the units.
             * @example 7
             */
            account_id: number;
        };
        MailSummary: {
            /**
             * Format: int64
             * @description The group to which the owner belongs, or the default group; null: none.
             * @example null
             */
            group_id: number | null;
            /**
             * Format: int64
             * @description The sum of the active quotas' totals.
             * @example 1500
             */
            total: number;
            /**
             * Format: int64
             * @description The sum of their `used`.
             * @example 20
             */
            used: number;
            /**
             * Format: int64
             * @description The sum of their `reserved`.
             * @example 5
             */
            reserved: number;
            /**
             * Format: int64
             * @description The sum of their `remaining`. After a `total` was lowered, it can exceed total - used - reserved.
             * @example 1475
             */
            remaining: number;
            /**
             * @description Number of active quotas that pay.
             * @example 2
             */
            quota_count: number;
            /**
             * Format: int64
             * @description The largest amount that one consume can take now, with the shared quotas of its groups: what the quotas pay, limited by the remaining units of each enforce cap; 0 without an active quota that pays.
             * @example 1475
             */
            available: number;
            /**
             * @description The active caps, with those of its groups, ids ascending.
             * @example []
             */
            caps: components["schemas"]["Cap"][];
            /**
             * Format: int64
             * @description The account.
             * @example 7
             */
            account_id: number;
        };
        MailThresholdEvent: {
            /**
             * Format: uuid
             * @description Id of the event, a UUIDv7.
             * @example 01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d
             */
            id: string;
            /**
             * Format: date-time
             * @description Time of the event.
             * @example 2026-12-01T00:00:00.000Z
             */
            at: string;
            /**
             * Format: int64
             * @description The group of the quota, or the one that the owner belonged to then; null: none.
             * @example null
             */
            group_id: number | null;
            /**
             * Format: int64
             * @description Id of the quota.
             * @example 12
             */
            quota_id: number;
            /**
             * @description The type of event.
             * @example quota.threshold_reached
             * @enum {string}
             */
            type: "quota.threshold_reached";
            /** @description The thresholds and the quota's state. */
            data: components["schemas"]["PassedThresholds"];
            /**
             * Format: int64
             * @description The owner of the quota; null for a quota of a group.
             * @example 7
             */
            account_id: number | null;
        };
        MailTopRefusal: {
            /**
             * @description The reason. `quota_observed`: the request succeeded, but an observe cap would have refused it.
             * @example quota_exceeded
             * @enum {string}
             */
            code: "quota_exceeded" | "no_active_quota" | "quota_observed";
            /**
             * Format: int64
             * @description Number of refused attempts, including repeated ones.
             * @example 41
             */
            count: number;
            /**
             * Format: int64
             * @description The sum of the requested amounts.
             * @example 120
             */
            requested: number;
            /**
             * Format: date-time
             * @description The time of the last attempt.
             * @example 2026-12-01T00:00:00.000Z
             */
            last_at: string;
            /**
             * Format: int64
             * @description The refused owner.
             * @example 7
             */
            account_id: number;
        };
        MailTopRefusals: {
            /** @description One item for each account and reason. */
            items: components["schemas"]["MailTopRefusal"][];
        };
        /** @description The body is not JSON. */
        MalformedJsonProblem: {
            /**
             * Format: uri
             * @description The problem type. `about:blank`: `code` identifies it.
             * @constant
             */
            type: "about:blank";
            /** @description The title of the code; the same for every problem of the code. */
            title: string;
            /**
             * @description The HTTP status.
             * @constant
             */
            status: 400;
            /** @description Describes this occurrence of the problem. */
            detail: string;
            /**
             * @description Identifies the problem; stable.
             * @constant
             */
            code: "malformed_json";
            /** @description The request's id, as in X-Request-Id; in an item of a batch, that of the batch. */
            request_id: string;
        };
        ManyChange: {
            /** @description Updates settings. */
            update?: components["schemas"]["ManySettings"];
            /**
             * @description Deletes the quotas; restorable.
             * @example true
             * @enum {boolean}
             */
            delete?: true;
            /**
             * @description Resets the quotas: begins a new count.
             * @example true
             * @enum {boolean}
             */
            reset?: true;
        };
        ManySettings: {
            /**
             * @description `active` or `disabled`; `expired` and `left` only if the record shows them.
             * @example active
             * @enum {string}
             */
            status?: "active" | "disabled" | "expired" | "left";
            /**
             * Format: date-time
             * @description The expiry. A time in the past expires the quota at once. Types 2 (cycle) and 3 (rolling): null means never.
             * @example null
             */
            expire_at?: string | null;
            /**
             * @description Type 2 (cycle) only. A change keeps the next reset; later ones are counted from it in the new unit.
             * @example month
             * @enum {string|null}
             */
            cycle_unit?: "hour" | "day" | "week" | "month" | "year" | null;
            /**
             * Format: date-time
             * @description Type 2 (cycle) only. A new value must be in the future; it becomes the anchor and ends the current cycle.
             * @example 2099-12-01T00:00:00.000Z
             */
            cycle_reset_at?: string | null;
            /**
             * @description Type 2 (cycle) only. A change keeps the next reset; later ones are counted from it in the new zone.
             * @example UTC
             */
            cycle_time_zone?: string | null;
            /**
             * @description A name for people; null removes it.
             * @example Spring campaign
             */
            label?: string | null;
            /**
             * @description Caps only: `enforce` or `observe`. Null only if the record shows it.
             * @example null
             * @enum {string|null}
             */
            cap?: "enforce" | "observe" | null;
            /**
             * @description Type 3 (rolling) only. A change begins a new count.
             * @example 86400
             */
            window_seconds?: number | null;
            /**
             * @description Types 1 (total) and 2 (cycle): replaces all thresholds; `[]` removes them. Null only if the record shows it (type 3, rolling).
             * @example [
             *       50,
             *       80
             *     ]
             */
            thresholds?: number[] | null;
            /** @description Members' counts only: the settings that stay the count's own. Those of its overrides that are missing are given back: they follow again. Absent or null: all stay. */
            overrides?: ("total" | "status" | "expire_at" | "cycle_unit" | "cycle_reset_at" | "cycle_time_zone" | "label" | "cap" | "window_seconds" | "thresholds")[] | null;
            /**
             * @description The new allowance, or its change by `add` units or by `percent`, rounded half up.
             * @example {
             *       "percent": 10
             *     }
             */
            total?: number | {
                /** Format: int64 */
                add: number;
            } | {
                percent: number;
            };
        };
        Me: {
            /**
             * @description The name of the principal, as changes show it: the token's name, or `oidc:` and a name from the identity provider.
             * @example boss
             */
            name: string;
            /**
             * @description The role of the principal.
             * @example admin
             * @enum {string}
             */
            role: "usage" | "service" | "admin" | "metrics";
            /**
             * @description The scopes that narrow the role: to a channel, to the principal's own operations, or to both. Empty: nothing narrows it.
             * @example [
             *       "mail",
             *       "own"
             *     ]
             */
            scopes: ("mail" | "sms" | "own")[];
            /**
             * Format: date-time
             * @description Expiry of the token; null if it does not expire.
             * @example null
             */
            expires_at: string | null;
            /**
             * @description The origin of the token: the service's own list, or the identity provider.
             * @example token
             * @enum {string}
             */
            source: "token" | "oidc";
        };
        /** @description The owner is not a member of the group. */
        MemberNotFoundProblem: {
            /**
             * Format: uri
             * @description The problem type. `about:blank`: `code` identifies it.
             * @constant
             */
            type: "about:blank";
            /** @description The title of the code; the same for every problem of the code. */
            title: string;
            /**
             * @description The HTTP status.
             * @constant
             */
            status: 404;
            /** @description Describes this occurrence of the problem. */
            detail: string;
            /**
             * @description Identifies the problem; stable.
             * @constant
             */
            code: "member_not_found";
            /** @description The request's id, as in X-Request-Id; in an item of a batch, that of the batch. */
            request_id: string;
        };
        MembersAdded: {
            /**
             * @description Owners that were in no group.
             * @example 2
             */
            added: number;
            /**
             * @description Owners that were in another group.
             * @example 1
             */
            moved: number;
            /**
             * @description Owners that were members already.
             * @example 0
             */
            unchanged: number;
        };
        /** @description The route does not take this method. */
        MethodNotAllowedProblem: {
            /**
             * Format: uri
             * @description The problem type. `about:blank`: `code` identifies it.
             * @constant
             */
            type: "about:blank";
            /** @description The title of the code; the same for every problem of the code. */
            title: string;
            /**
             * @description The HTTP status.
             * @constant
             */
            status: 405;
            /** @description Describes this occurrence of the problem. */
            detail: string;
            /**
             * @description Identifies the problem; stable.
             * @constant
             */
            code: "method_not_allowed";
            /** @description The request's id, as in X-Request-Id; in an item of a batch, that of the batch. */
            request_id: string;
            /** @description The methods that the path takes. */
            allow: string[];
        };
        NewMailChangeSet: {
            /** @description The change of each quota. */
            change: components["schemas"]["ManyChange"];
            /** @description Selects the quotas, once, when the change set is prepared. */
            filter: components["schemas"]["MailChangeFilter"];
        };
        NewSmsChangeSet: {
            /** @description The change of each quota. */
            change: components["schemas"]["ManyChange"];
            /** @description Selects the quotas, once, when the change set is prepared. */
            filter: components["schemas"]["SmsChangeFilter"];
        };
        /** @description The owner has no active quota. */
        NoActiveQuotaProblem: {
            /**
             * Format: uri
             * @description The problem type. `about:blank`: `code` identifies it.
             * @constant
             */
            type: "about:blank";
            /** @description The title of the code; the same for every problem of the code. */
            title: string;
            /**
             * @description The HTTP status.
             * @constant
             */
            status: 409;
            /** @description Describes this occurrence of the problem. */
            detail: string;
            /**
             * @description Identifies the problem; stable.
             * @constant
             */
            code: "no_active_quota";
            /** @description The request's id, as in X-Request-Id; in an item of a batch, that of the batch. */
            request_id: string;
        };
        /** @description The quota has no count of its own. */
        NothingToResetProblem: {
            /**
             * Format: uri
             * @description The problem type. `about:blank`: `code` identifies it.
             * @constant
             */
            type: "about:blank";
            /** @description The title of the code; the same for every problem of the code. */
            title: string;
            /**
             * @description The HTTP status.
             * @constant
             */
            status: 409;
            /** @description Describes this occurrence of the problem. */
            detail: string;
            /**
             * @description Identifies the problem; stable.
             * @constant
             */
            code: "nothing_to_reset";
            /** @description The request's id, as in X-Request-Id; in an item of a batch, that of the batch. */
            request_id: string;
        };
        /** @description The operation is settled. */
        OperationAlreadySettledProblem: {
            /**
             * Format: uri
             * @description The problem type. `about:blank`: `code` identifies it.
             * @constant
             */
            type: "about:blank";
            /** @description The title of the code; the same for every problem of the code. */
            title: string;
            /**
             * @description The HTTP status.
             * @constant
             */
            status: 409;
            /** @description Describes this occurrence of the problem. */
            detail: string;
            /**
             * @description Identifies the problem; stable.
             * @constant
             */
            code: "operation_already_settled";
            /** @description The request's id, as in X-Request-Id; in an item of a batch, that of the batch. */
            request_id: string;
            /**
             * @description The state of the operation.
             * @enum {string}
             */
            state: "consumed" | "committed" | "released" | "expired";
        };
        /** @description There is no such operation. */
        OperationNotFoundProblem: {
            /**
             * Format: uri
             * @description The problem type. `about:blank`: `code` identifies it.
             * @constant
             */
            type: "about:blank";
            /** @description The title of the code; the same for every problem of the code. */
            title: string;
            /**
             * @description The HTTP status.
             * @constant
             */
            status: 404;
            /** @description Describes this occurrence of the problem. */
            detail: string;
            /**
             * @description Identifies the problem; stable.
             * @constant
             */
            code: "operation_not_found";
            /** @description The request's id, as in X-Request-Id; in an item of a batch, that of the batch. */
            request_id: string;
        };
        OwnerDay: {
            /**
             * Format: date-time
             * @description The beginning of the UTC day.
             * @example 2026-12-01T00:00:00.000Z
             */
            day: string;
            /**
             * Format: int64
             * @description Units charged on this day, gross.
             * @example 120
             */
            charged: number;
        };
        OwnerLimit: {
            /**
             * Format: int64
             * @description The quota; null if several owners share it, and for a member's count that its first consume will create.
             * @example 12
             */
            id: number | null;
            /**
             * @description Its name for people.
             * @example Newsletter
             */
            label: string | null;
            /**
             * @description 1: total, 2: cycle, 3: rolling.
             * @example 1
             * @enum {integer}
             */
            quota_type: 1 | 2 | 3;
            /**
             * @description Null if it pays; otherwise it is a cap.
             * @example enforce
             * @enum {string|null}
             */
            cap: "enforce" | "observe" | null;
            /**
             * Format: int64
             * @description Units that it allows; null if several owners share it.
             * @example 1000
             */
            total: number | null;
            /**
             * Format: int64
             * @description Units spent; null if several owners share it.
             * @example 20
             */
            used: number | null;
            /**
             * Format: int64
             * @description Units left; if several owners share it, those of them that this owner may still take.
             * @example 975
             */
            remaining: number;
            /**
             * Format: date-time
             * @description The next time before its end at which it has more units; null if there is none.
             * @example 2026-12-01T00:00:00.000Z
             */
            refills_at: string | null;
            /**
             * Format: date-time
             * @description The time at which it ends; null: never.
             * @example 2026-12-01T00:00:00.000Z
             */
            expire_at: string | null;
        };
        OwnerRefusal: {
            /**
             * Format: date-time
             * @description The beginning of the UTC hour.
             * @example 2026-12-01T00:00:00.000Z
             */
            hour: string;
            /**
             * @description The reason.
             * @example quota_exceeded
             * @enum {string}
             */
            code: "quota_exceeded" | "no_active_quota" | "quota_observed";
            /**
             * Format: int64
             * @description Number of refused attempts, including repeated ones.
             * @example 41
             */
            count: number;
        };
        OwnerView: {
            /**
             * Format: int64
             * @description The mail account; absent for a user of SMS.
             * @example 7
             */
            account_id?: number;
            /**
             * Format: int64
             * @description The user of SMS; absent for a mail account.
             * @example 7
             */
            user_id?: number;
            /**
             * Format: int64
             * @description The largest amount that one consume can take now.
             * @example 975
             */
            available: number;
            /**
             * Format: date-time
             * @description The time from which the link opens nothing.
             * @example 2026-12-01T00:00:00.000Z
             */
            expires_at: string;
            /** @description The active quotas that pay for the owner, in paying order, then its active caps. */
            limits: components["schemas"]["OwnerLimit"][];
            /** @description The last refusals, at most 20, newest hour first. */
            refusals: components["schemas"]["OwnerRefusal"][];
            /** @description The usage of the last 31 UTC days up to now, oldest first. */
            days: components["schemas"]["OwnerDay"][];
        };
        PassedThresholds: {
            /**
             * @description The highest of them, in percent of `total`.
             * @example 80
             */
            threshold: number;
            /**
             * @description All of them, ascending.
             * @example [
             *       50,
             *       80
             *     ]
             */
            crossed: number[];
            /**
             * Format: int64
             * @description The quota's `total` right after the act.
             * @example 1000
             */
            total: number;
            /**
             * Format: int64
             * @description Its `used` right after the act.
             * @example 803
             */
            used: number;
            /**
             * Format: date-time
             * @description Its next reset; null for type 1 (total).
             * @example 2026-12-01T00:00:00.000Z
             */
            cycle_reset_at: string | null;
            /**
             * @description The label of the quota.
             * @example Newsletter
             */
            label: string | null;
            /**
             * Format: uuid
             * @description Id of the consume or reservation that reached them; null if an edit did.
             * @example 01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d
             */
            operation_id: string | null;
        };
        /** @description The body is too large. */
        PayloadTooLargeProblem: {
            /**
             * Format: uri
             * @description The problem type. `about:blank`: `code` identifies it.
             * @constant
             */
            type: "about:blank";
            /** @description The title of the code; the same for every problem of the code. */
            title: string;
            /**
             * @description The HTTP status.
             * @constant
             */
            status: 413;
            /** @description Describes this occurrence of the problem. */
            detail: string;
            /**
             * @description Identifies the problem; stable.
             * @constant
             */
            code: "payload_too_large";
            /** @description The request's id, as in X-Request-Id; in an item of a batch, that of the batch. */
            request_id: string;
        };
        /** @description The quota is exceeded. */
        QuotaExceededProblem: {
            /**
             * Format: uri
             * @description The problem type. `about:blank`: `code` identifies it.
             * @constant
             */
            type: "https://iana.org/assignments/http-problem-types#quota-exceeded";
            /** @description The title of the code; the same for every problem of the code. */
            title: string;
            /**
             * @description The HTTP status.
             * @constant
             */
            status: 409;
            /** @description Describes this occurrence of the problem. */
            detail: string;
            /**
             * @description Identifies the problem; stable.
             * @constant
             */
            code: "quota_exceeded";
            /** @description The request's id, as in X-Request-Id; in an item of a batch, that of the batch. */
            request_id: string;
            /**
             * Format: int64
             * @description Requested units.
             */
            requested: number;
            /**
             * Format: int64
             * @description The largest amount that one consume could take: `payable`, limited by the remaining units of each enforce cap.
             */
            remaining: number;
            /**
             * Format: int64
             * @description The units that the quotas could pay together, without caps.
             */
            payable: number;
            /**
             * Format: date-time
             * @description The earliest time at which quotas and caps admit the request if nothing is taken or settled until then: a reset, the end of a hold or of a cap, or a boundary of a rolling cap; null if there is none.
             */
            refills_at: string | null;
            /** @description The enforce caps that refuse the request, by id; empty if only the units of the quotas are insufficient. */
            caps: components["schemas"]["Cap"][];
            /** @description The first quotas, in draw-down order. */
            quotas: components["schemas"]["RefusingQuota"][];
        };
        /** @description There is no such quota. */
        QuotaNotFoundProblem: {
            /**
             * Format: uri
             * @description The problem type. `about:blank`: `code` identifies it.
             * @constant
             */
            type: "about:blank";
            /** @description The title of the code; the same for every problem of the code. */
            title: string;
            /**
             * @description The HTTP status.
             * @constant
             */
            status: 404;
            /** @description Describes this occurrence of the problem. */
            detail: string;
            /**
             * @description Identifies the problem; stable.
             * @constant
             */
            code: "quota_not_found";
            /** @description The request's id, as in X-Request-Id; in an item of a batch, that of the batch. */
            request_id: string;
        };
        Ready: {
            /**
             * @description Always `ready`; otherwise the answer is 503.
             * @example ready
             * @enum {string}
             */
            status: "ready";
        };
        Refund: {
            /**
             * Format: int64
             * @description Charged units to return. Default: all that can still be refunded.
             * @example 5
             */
            amount?: number;
        };
        /** @description The amount exceeds the remaining charge. */
        RefundExceedsChargeProblem: {
            /**
             * Format: uri
             * @description The problem type. `about:blank`: `code` identifies it.
             * @constant
             */
            type: "about:blank";
            /** @description The title of the code; the same for every problem of the code. */
            title: string;
            /**
             * @description The HTTP status.
             * @constant
             */
            status: 409;
            /** @description Describes this occurrence of the problem. */
            detail: string;
            /**
             * @description Identifies the problem; stable.
             * @constant
             */
            code: "refund_exceeds_charge";
            /** @description The request's id, as in X-Request-Id; in an item of a batch, that of the batch. */
            request_id: string;
            /**
             * Format: int64
             * @description The units that can still be refunded.
             */
            refundable: number;
        };
        Refusal: {
            /**
             * Format: date-time
             * @description The beginning of the UTC hour.
             * @example 2026-12-01T00:00:00.000Z
             */
            hour: string;
            /**
             * @description The reason.
             * @example quota_exceeded
             * @enum {string}
             */
            code: "quota_exceeded" | "no_active_quota" | "quota_observed";
            /**
             * Format: int64
             * @description Number of refused attempts, including repeated ones.
             * @example 41
             */
            count: number;
            /**
             * Format: int64
             * @description The sum of the requested amounts.
             * @example 120
             */
            requested: number;
            /**
             * Format: date-time
             * @description The time of the last attempt.
             * @example 2026-12-01T00:00:00.000Z
             */
            last_at: string;
            /**
             * Format: int64
             * @description The smallest requested amount. Present only with `amounts=true`, as are `largest` and `last`.
             * @example 1
             */
            smallest?: number;
            /**
             * Format: int64
             * @description The largest requested amount.
             * @example 20
             */
            largest?: number;
            /**
             * Format: int64
             * @description The amount requested at `last_at`.
             * @example 5
             */
            last?: number;
        };
        Refusals: {
            /** @description The counts. */
            items: components["schemas"]["Refusal"][];
        };
        Refused: {
            /**
             * Format: int64
             * @description Number of operations.
             * @example 17
             */
            count: number;
            /**
             * Format: int64
             * @description The sum of their amounts, at most 2^53-1.
             * @example 204
             */
            requested: number;
        };
        RefusedOnDay: {
            /**
             * Format: int64
             * @description Number of operations.
             * @example 17
             */
            count: number;
            /**
             * Format: int64
             * @description The sum of their amounts, at most 2^53-1.
             * @example 204
             */
            requested: number;
            /**
             * Format: date-time
             * @description The beginning of the UTC day.
             * @example 2026-12-01T00:00:00.000Z
             */
            day: string;
        };
        RefusedSpell: {
            /**
             * @description Why its consumes and reservations are refused; `quota_observed`: they succeed, and an `observe` cap would have refused them.
             * @example quota_exceeded
             * @enum {string}
             */
            code: "quota_exceeded" | "no_active_quota" | "quota_observed";
            /**
             * Format: date-time
             * @description Time of the first of these refusals; with the owner and the code, it identifies them in all of their events.
             * @example 2026-12-01T00:00:00.000Z
             */
            since: string;
            /**
             * Format: int64
             * @description Number of them so far; the last seconds may be missing.
             * @example 41
             */
            count: number;
            /**
             * Format: int64
             * @description Sum of the requested amounts so far, at most 2^53-1.
             * @example 4100
             */
            requested: number;
        };
        RefusingQuota: {
            /**
             * Format: int64
             * @description Id of the quota; null for a member's count that its first consume will create.
             * @example 12
             */
            id: number | null;
            /**
             * Format: int64
             * @description The group of the quota; null for a quota of the owner.
             * @example null
             */
            group_id: number | null;
            /**
             * Format: int64
             * @description Its allowance.
             * @example 1000
             */
            total: number;
            /**
             * Format: int64
             * @description Units spent.
             * @example 997
             */
            used: number;
            /**
             * Format: int64
             * @description Units reserved by open holds.
             * @example 0
             */
            reserved: number;
            /**
             * Format: int64
             * @description Units that remain.
             * @example 3
             */
            remaining: number;
            /**
             * Format: date-time
             * @description The next reset before `expire_at`; null if there is none.
             * @example 2026-12-01T00:00:00.000Z
             */
            refills_at: string | null;
        };
        Replay: {
            /**
             * Format: date-time
             * @description Sends events at or after this time.
             * @example 2026-11-01T00:00:00.000Z
             */
            from: string;
            /**
             * Format: date-time
             * @description Sends events before this time. Default: all later ones.
             * @example 2099-12-01T00:00:00.000Z
             */
            to?: string;
        };
        Replayed: {
            /**
             * Format: int64
             * @description Number of events to send again.
             * @example 41
             */
            events: number;
        };
        Reset: {
            /**
             * Format: int64
             * @description The version that the caller read. If it is not the current one, nothing is reset.
             * @example 3
             */
            version?: number;
        };
        Revert: {
            /**
             * Format: int64
             * @description The version of the change set that the caller read.
             * @example 2
             */
            version: number;
        };
        /** @description There is no such route. */
        RouteNotFoundProblem: {
            /**
             * Format: uri
             * @description The problem type. `about:blank`: `code` identifies it.
             * @constant
             */
            type: "about:blank";
            /** @description The title of the code; the same for every problem of the code. */
            title: string;
            /**
             * @description The HTTP status.
             * @constant
             */
            status: 404;
            /** @description Describes this occurrence of the problem. */
            detail: string;
            /**
             * @description Identifies the problem; stable.
             * @constant
             */
            code: "route_not_found";
            /** @description The request's id, as in X-Request-Id; in an item of a batch, that of the batch. */
            request_id: string;
        };
        RowProblem: {
            /**
             * @description Identifies the reason. For a row, a problem code; for a change set, `csv_malformed`, `too_many_rows` or `internal_error`.
             * @example version_mismatch
             */
            code: string;
            /**
             * @description Describes this occurrence.
             * @example The quota is at version 4, not 3.
             */
            detail: string;
            /** @description All fields with mistakes; present with `validation_failed`. */
            errors?: components["schemas"]["FieldError"][];
        };
        Series: {
            /**
             * @description The length of a step.
             * @example day
             * @enum {string}
             */
            step: "day" | "hour";
            /** @description All steps up to the present, oldest first, including those without usage. */
            items: components["schemas"]["UsageStep"][];
        };
        SmsAddMembers: {
            /**
             * @description 1 … 1000 different users. Those in another group are moved.
             * @example [
             *       7,
             *       8
             *     ]
             */
            user_ids: number[];
        };
        SmsBatch: {
            /** @description 1 … 1000 consumes, processed in order. */
            items: components["schemas"]["SmsBatchItem"][];
        };
        SmsBatchAnswer: {
            /** @description The results. */
            results: (components["schemas"]["SmsBatchDone"] | components["schemas"]["BatchRefused"])[];
        };
        SmsBatchDone: {
            /**
             * @description The HTTP status that the item would have as a separate request.
             * @example 200
             * @enum {integer}
             */
            status: 200;
            /**
             * @description Whether this is a replay of an earlier answer.
             * @example false
             */
            replayed: boolean;
            /** @description The operation. */
            operation: components["schemas"]["SmsOperation"];
        };
        SmsBatchItem: {
            /**
             * Format: int64
             * @description Units to spend, all or none.
             * @example 5
             */
            amount: number;
            /**
             * @description The item's own Idempotency-Key.
             * @example msg-8841
             */
            idempotency_key: string;
            /**
             * Format: int64
             * @description The owner whose quotas pay.
             * @example 7
             */
            user_id: number;
        };
        SmsCapTrial: {
            /**
             * @description 1 (total): `total` units in the whole period. 2 (cycle): `total` units per cycle. 3 (rolling): `total` units in any `window_seconds`.
             * @example 3
             * @enum {integer}
             */
            quota_type: 1 | 2 | 3;
            /**
             * Format: int64
             * @description The limit, in the caller's unit; 0 … 10^12.
             * @example 1000
             */
            total: number;
            /**
             * @description The window, in seconds; required for type 3 (rolling), not allowed for others.
             * @example 86400
             */
            window_seconds?: number | null;
            /**
             * @description The length of a cycle; required for type 2 (cycle), not allowed for others.
             * @example null
             * @enum {string|null}
             */
            cycle_unit?: "hour" | "day" | "week" | "month" | "year" | null;
            /**
             * Format: date-time
             * @description A reset, from which later ones are counted; required for type 2 (cycle), not allowed for others. It may be in the past: with one before the period, all cycles are whole; otherwise the first one lasts from the beginning of the period until this reset.
             * @example null
             */
            cycle_reset_at?: string | null;
            /**
             * @description The IANA time zone whose calendar the cycle follows; only for type 2 (cycle). Default: `UTC`.
             * @example null
             */
            cycle_time_zone?: string | null;
            /**
             * @description The period: so many days of 24 hours, until now.
             * @default 30
             * @example 30
             */
            days?: number;
            /**
             * Format: int64
             * @description The user.
             * @example 7
             */
            user_id: number;
        };
        SmsChange: {
            /**
             * Format: int64
             * @description Id of the change; increases with time.
             * @example 31
             */
            id: number;
            /**
             * Format: int64
             * @description Id of the quota; absent in a change of a group, and in the erasure of an owner.
             * @example 12
             */
            quota_id?: number;
            /**
             * Format: int64
             * @description The changed group, or the group of the quota; null: none.
             * @example null
             */
            group_id: number | null;
            /**
             * @description The action.
             * @example update
             * @enum {string}
             */
            action: "create" | "update" | "delete" | "restore" | "reset" | "members" | "erase";
            /**
             * @description Name of the principal that made the change; `(erased)` if that was an owner that was erased.
             * @example back-office
             */
            actor: string;
            /**
             * @description The X-Request-Id of the request; `(erased)` if the owner was erased since.
             * @example 01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d
             */
            request_id: string;
            /**
             * Format: date-time
             * @description Time of the change.
             * @example 2026-12-01T00:00:00.000Z
             */
            at: string;
            /** @description The changed members before; empty for a create. */
            before: components["schemas"]["ChangedSettings"];
            /** @description The changed members after. */
            after: components["schemas"]["ChangedSettings"];
            /**
             * Format: int64
             * @description Id of the change set that made the change; absent otherwise.
             * @example 5
             */
            change_set_id?: number;
            /**
             * Format: int64
             * @description The owner of the quota; null for a quota of a group, absent in a change of a group.
             * @example 7
             */
            user_id?: number | null;
        };
        SmsChangeEvent: {
            /**
             * Format: uuid
             * @description Id of the event, a UUIDv7.
             * @example 01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d
             */
            id: string;
            /**
             * Format: date-time
             * @description Time of the event.
             * @example 2026-12-01T00:00:00.000Z
             */
            at: string;
            /**
             * Format: int64
             * @description The group of the quota, or the one that the owner belonged to then; null: none.
             * @example null
             */
            group_id: number | null;
            /**
             * Format: int64
             * @description Id of the quota.
             * @example 12
             */
            quota_id: number;
            /**
             * @description The type of event.
             * @example quota.created
             * @enum {string}
             */
            type: "quota.created" | "quota.updated" | "quota.deleted" | "quota.restored" | "quota.reset";
            /**
             * Format: int64
             * @description The owner of the quota; null for a quota of a group.
             * @example 7
             */
            user_id: number | null;
            /** @description The change. */
            data: components["schemas"]["SmsChange"];
        };
        SmsChangeFilter: {
            /**
             * @description Returns only quotas that have this status now.
             * @example active
             * @enum {string}
             */
            status?: "active" | "disabled" | "expired" | "left";
            /**
             * @description Returns only caps of this kind; `none`: only quotas that pay.
             * @example enforce
             * @enum {string}
             */
            cap?: "enforce" | "observe" | "none";
            /**
             * Format: int64
             * @description Returns only the quotas of this group, not the counts of its members.
             * @example 5
             */
            group_id?: number;
            /**
             * Format: int64
             * @description Returns only the counts of members that follow this quota.
             * @example 12
             */
            follows?: number;
            /**
             * @description Returns only quotas whose label begins with this text. Case is ignored, accents are not; there are no wildcards.
             * @example Spring
             */
            label?: string;
            /**
             * Format: int64
             * @description Returns only quotas of this user.
             * @example 7
             */
            user_id?: number;
            /**
             * @description Selects all quotas. Cannot be combined with other conditions.
             * @example true
             * @enum {boolean}
             */
            all?: true;
            /**
             * @description Selects only quotas with these ids. Ids that no live quota has are skipped.
             * @example [
             *       7,
             *       8
             *     ]
             */
            ids?: number[];
        };
        SmsChangePage: {
            /**
             * Format: int64
             * @description Number of the page, from 1.
             * @example 1
             */
            page: number;
            /**
             * @description The requested size, 1 … 100.
             * @example 20
             */
            page_size: number;
            /**
             * Format: int64
             * @description Number of items in the whole list.
             * @example 57
             */
            total: number;
            /**
             * @description `exact` up to 10,000 items; above, the total is a count at most 60 seconds old.
             * @example exact
             * @enum {string}
             */
            total_relation: "exact" | "recent";
            /** @description The changes. */
            items: components["schemas"]["SmsChange"][];
        };
        SmsChangeSetRow: {
            /**
             * Format: int64
             * @description Number of the row, from 1, in order of `quota_id` or of the file.
             * @example 1
             */
            row: number;
            /**
             * Format: int64
             * @description The line of the file where the record begins; null without a file.
             * @example null
             */
            line: number | null;
            /**
             * Format: int64
             * @description Id of the quota; null before it is created, and if the record names none.
             * @example 12
             */
            quota_id: number | null;
            /**
             * @description The label of the quota at the time of reading; null if it has none, and if `quota_id` is null. Present only with
             *     `labels=true`.
             * @example Spring campaign
             */
            label?: string | null;
            /**
             * @description The action.
             * @example update
             * @enum {string}
             */
            action: "create" | "update" | "delete" | "reset";
            /**
             * @description The outcome.
             * @example planned
             * @enum {string}
             */
            outcome: "planned" | "unchanged" | "invalid" | "applied" | "conflict" | "reverted" | "kept";
            /** @description The changed members before; empty if nothing changes. */
            before: components["schemas"]["ChangedSettings"];
            /** @description The changed members after. */
            after: components["schemas"]["ChangedSettings"];
            /** @description The reason why the row was not applied or reverted; null otherwise. */
            problem: components["schemas"]["RowProblem"] | null;
            /**
             * Format: int64
             * @description The owner of the quota; null if the record names none.
             * @example 7
             */
            user_id: number | null;
        };
        SmsChangeSetRowsPage: {
            /**
             * Format: int64
             * @description Pass it as `after` to get the next page; null on the last page.
             * @example 100
             */
            next_after: number | null;
            /** @description The rows. */
            items: components["schemas"]["SmsChangeSetRow"][];
        };
        SmsChangesPage: {
            /**
             * Format: int64
             * @description Pass it as `before` to get the next page; null on the last page.
             * @example 31
             */
            next_before: number | null;
            /** @description The changes. */
            items: components["schemas"]["SmsChange"][];
        };
        SmsConsume: {
            /**
             * Format: int64
             * @description Units to spend, all or none.
             * @example 5
             */
            amount: number;
            /**
             * Format: int64
             * @description The owner whose quotas pay.
             * @example 7
             */
            user_id: number;
        };
        SmsEventsPage: {
            /**
             * @description Pass it as `after` to continue, at once or later; never null. An empty page is the current end of the feed.
             * @example e1841
             */
            next_after: string;
            /** @description The events. */
            items: (components["schemas"]["SmsThresholdEvent"] | components["schemas"]["SmsChangeEvent"] | components["schemas"]["SmsOwnerEvent"])[];
        };
        SmsExpiringPage: {
            /**
             * @description Pass it as `cursor` to get the next page; null on the last page.
             * @example 1798761600000.12
             */
            next_cursor: string | null;
            /** @description The quotas. */
            items: components["schemas"]["SmsQuota"][];
        };
        SmsLedgerPage: {
            /**
             * Format: uuid
             * @description Pass it as `before` to get the next page; null on the last page. With the scope `own`, a page may have few or no operations and still have a next page.
             * @example 01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d
             */
            next_before: string | null;
            /**
             * Format: date-time
             * @description The time from which the ledger is complete; operations settled before may have been removed. Absent if nothing was removed.
             * @example 2026-12-01T00:00:00.000Z
             */
            begins_at?: string;
            /** @description The operations. */
            items: components["schemas"]["SmsListedOperation"][];
        };
        SmsListedOperation: {
            /**
             * Format: uuid
             * @description Id of the operation, a UUIDv7; increases with time.
             * @example 01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d
             */
            id: string;
            /**
             * @description The kind of operation.
             * @example consume
             * @enum {string}
             */
            kind: "consume" | "reserve";
            /**
             * @description The current state.
             * @example consumed
             * @enum {string}
             */
            state: "consumed" | "reserved" | "committed" | "released" | "expired";
            /**
             * Format: int64
             * @description Requested units.
             * @example 5
             */
            amount: number;
            /**
             * Format: int64
             * @description Units spent, gross; 0 while a hold is open.
             * @example 5
             */
            charged: number;
            /**
             * Format: int64
             * @description Units of `charged` that returned.
             * @example 0
             */
            refunded: number;
            /** @description The units drawn from each quota, in draw-down order. */
            allocations: components["schemas"]["Allocation"][];
            /**
             * @description Ids of the caps that counted the operation with its whole amount, ascending; absent if there are none.
             * @example [
             *       9,
             *       10
             *     ]
             */
            caps?: number[];
            /**
             * @description Ids of those observe caps that would have refused it. Only in the first answer and its replays; absent if there are none.
             * @example [
             *       10
             *     ]
             */
            would_refuse?: number[];
            /**
             * Format: int64
             * @description The largest amount that the owner could consume right after the operation's last act.
             * @example 970
             */
            owner_remaining: number;
            /**
             * Format: date-time
             * @description Expiry of the hold; null for a consume.
             * @example null
             */
            expires_at: string | null;
            /**
             * Format: date-time
             * @description Time of the creation.
             * @example 2026-12-01T00:00:00.000Z
             */
            created_at: string;
            /**
             * Format: int64
             * @description The owner whose quotas pay.
             * @example 7
             */
            user_id: number;
            /** @description The principal and the key. Present only with `made_by=true`. */
            made_by?: components["schemas"]["MadeBy"];
        };
        SmsListedQuota: {
            /**
             * Format: int64
             * @description Id of the quota.
             * @example 12
             */
            id: number;
            /**
             * @description 1 (total): `total` units until `expire_at`. 2 (cycle): `total` units per cycle. 3 (rolling): `total` units in any `window_seconds`; only caps.
             * @example 2
             * @enum {integer}
             */
            quota_type: 1 | 2 | 3;
            /**
             * Format: int64
             * @description The allowance, in the caller's unit.
             * @example 1000
             */
            total: number;
            /**
             * Format: int64
             * @description Units spent: type 2 (cycle) in the current cycle, type 3 (rolling) in the window. Can exceed `total` in an observe cap.
             * @example 20
             */
            used: number;
            /**
             * Format: int64
             * @description Units reserved by open holds.
             * @example 5
             */
            reserved: number;
            /**
             * Format: int64
             * @description max(0, total - used - reserved)
             * @example 975
             */
            remaining: number;
            /**
             * @description The status at the time of reading: `left` if it is a member's count whose group is no longer in the owner's chain, otherwise `disabled` if an administrator disabled the quota, otherwise `expired` from `expire_at` on, otherwise `active`.
             * @example active
             * @enum {string}
             */
            status: "active" | "disabled" | "expired" | "left";
            /**
             * Format: date-time
             * @description The time from which the quota is expired; null: never.
             * @example null
             */
            expire_at: string | null;
            /**
             * @description The length of a cycle; null for types 1 (total) and 3 (rolling).
             * @example month
             * @enum {string|null}
             */
            cycle_unit: "hour" | "day" | "week" | "month" | "year" | null;
            /**
             * Format: date-time
             * @description The next reset, even if it is after `expire_at`; null for types 1 (total) and 3 (rolling).
             * @example 2026-12-01T00:00:00.000Z
             */
            cycle_reset_at: string | null;
            /**
             * Format: date-time
             * @description Reset number 0, from which all others are counted; null for types 1 (total) and 3 (rolling).
             * @example 2026-12-01T00:00:00.000Z
             */
            cycle_anchor_at: string | null;
            /**
             * @description The IANA time zone whose calendar the cycle follows, as sent; null for types 1 (total) and 3 (rolling).
             * @example UTC
             */
            cycle_time_zone: string | null;
            /**
             * @description A name for people, as sent; null: none.
             * @example Spring campaign
             */
            label: string | null;
            /**
             * @description Null: the quota pays. Otherwise it is a cap: `enforce` limits what the owner consumes, `observe` only reports what it would have refused.
             * @example null
             * @enum {string|null}
             */
            cap: "enforce" | "observe" | null;
            /**
             * @description The window of a rolling cap, in seconds; null for types 1 (total) and 2 (cycle).
             * @example null
             */
            window_seconds: number | null;
            /**
             * @description Percentages of `total` at which `used` causes an event, ascending; null for type 3 (rolling).
             * @example [
             *       50,
             *       80
             *     ]
             */
            thresholds: number[] | null;
            /**
             * Format: int64
             * @description The group of a group's quota, and of a member's count; null for an owner's own quota.
             * @example null
             */
            group_id: number | null;
            /**
             * @description `group`: all members of the group share it. `member`: each has a count of its own. Null for an owner's own quota.
             * @example null
             * @enum {string|null}
             */
            per: "group" | "member" | null;
            /**
             * Format: int64
             * @description The quota whose settings this count of a member follows; null for every other quota.
             * @example null
             */
            follows: number | null;
            /**
             * @description The settings of a member's count that do not follow, ascending; null for every other quota.
             * @example null
             */
            overrides: ("total" | "status" | "expire_at" | "cycle_unit" | "cycle_reset_at" | "cycle_time_zone" | "label" | "cap" | "window_seconds" | "thresholds")[] | null;
            /**
             * Format: int64
             * @description Starts at 1 and is incremented by each edit of the settings, not by usage.
             * @example 3
             */
            version: number;
            /**
             * Format: date-time
             * @description Time of the creation.
             * @example 2026-12-01T00:00:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @description Time of the last edit, deletion, restore or reset; usage does not change it.
             * @example 2026-12-01T00:00:00.000Z
             */
            updated_at: string;
            /**
             * Format: int64
             * @description The user whom the quota limits. Null for a quota of a group.
             * @example 7
             */
            user_id: number | null;
            /**
             * Format: date-time
             * @description Time of the deletion. Present only with `deleted=true`.
             * @example 2026-12-01T00:00:00.000Z
             */
            deleted_at?: string;
        };
        SmsMember: {
            /**
             * Format: date-time
             * @description The time since which it is a member of this group.
             * @example 2026-12-01T00:00:00.000Z
             */
            since: string;
            /**
             * Format: int64
             * @description The user.
             * @example 7
             */
            user_id: number;
        };
        SmsMembersPage: {
            /**
             * Format: int64
             * @description Pass it as `after` to get the next page; null on the last page.
             * @example 7
             */
            next_after: number | null;
            /** @description The members, ids ascending. */
            items: components["schemas"]["SmsMember"][];
        };
        SmsOperation: {
            /**
             * Format: uuid
             * @description Id of the operation, a UUIDv7; increases with time.
             * @example 01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d
             */
            id: string;
            /**
             * @description The kind of operation.
             * @example consume
             * @enum {string}
             */
            kind: "consume" | "reserve";
            /**
             * @description The current state.
             * @example consumed
             * @enum {string}
             */
            state: "consumed" | "reserved" | "committed" | "released" | "expired";
            /**
             * Format: int64
             * @description Requested units.
             * @example 5
             */
            amount: number;
            /**
             * Format: int64
             * @description Units spent, gross; 0 while a hold is open.
             * @example 5
             */
            charged: number;
            /**
             * Format: int64
             * @description Units of `charged` that returned.
             * @example 0
             */
            refunded: number;
            /** @description The units drawn from each quota, in draw-down order. */
            allocations: components["schemas"]["Allocation"][];
            /**
             * @description Ids of the caps that counted the operation with its whole amount, ascending; absent if there are none.
             * @example [
             *       9,
             *       10
             *     ]
             */
            caps?: number[];
            /**
             * @description Ids of those observe caps that would have refused it. Only in the first answer and its replays; absent if there are none.
             * @example [
             *       10
             *     ]
             */
            would_refuse?: number[];
            /**
             * Format: int64
             * @description The largest amount that the owner could consume right after the operation's last act.
             * @example 970
             */
            owner_remaining: number;
            /**
             * Format: date-time
             * @description Expiry of the hold; null for a consume.
             * @example null
             */
            expires_at: string | null;
            /**
             * Format: date-time
             * @description Time of the creation.
             * @example 2026-12-01T00:00:00.000Z
             */
            created_at: string;
            /**
             * Format: int64
             * @description The owner whose quotas pay.
             * @example 7
             */
            user_id: number;
        };
        SmsOwner: {
            /**
             * Format: int64
             * @description The group to which the owner belongs, or the default group; null: none.
             * @example null
             */
            group_id: number | null;
            /**
             * Format: int64
             * @description The sum of the active quotas' totals.
             * @example 1500
             */
            total: number;
            /**
             * Format: int64
             * @description The sum of their `used`.
             * @example 20
             */
            used: number;
            /**
             * Format: int64
             * @description The sum of their `reserved`.
             * @example 5
             */
            reserved: number;
            /**
             * Format: int64
             * @description The sum of their `remaining`. After a `total` was lowered, it can exceed total - used - reserved.
             * @example 1475
             */
            remaining: number;
            /**
             * @description Number of active quotas that pay.
             * @example 2
             */
            quota_count: number;
            /**
             * Format: int64
             * @description The largest amount that one consume can take now, with the shared quotas of its groups: what the quotas pay, limited by the remaining units of each enforce cap; 0 without an active quota that pays.
             * @example 1475
             */
            available: number;
            /**
             * Format: int64
             * @description The user.
             * @example 7
             */
            user_id: number;
        };
        SmsOwnerEvent: {
            /**
             * Format: uuid
             * @description Id of the event, a UUIDv7.
             * @example 01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d
             */
            id: string;
            /**
             * Format: date-time
             * @description Time of the event.
             * @example 2026-12-01T00:00:00.000Z
             */
            at: string;
            /**
             * Format: int64
             * @description The group of the quota, or the one that the owner belonged to then; null: none.
             * @example null
             */
            group_id: number | null;
            /**
             * @description The type of event.
             * @example owner.refused
             * @enum {string}
             */
            type: "owner.refused" | "owner.recovered";
            /**
             * @description Always null: the event is about the owner.
             * @example null
             */
            quota_id: null;
            /** @description The refusals. */
            data: components["schemas"]["RefusedSpell"];
            /**
             * Format: int64
             * @description The user.
             * @example 7
             */
            user_id: number;
        };
        SmsOwnersPage: {
            /**
             * Format: int64
             * @description Pass it as `after` to get the next page; null on the last page.
             * @example 7
             */
            next_after: number | null;
            /** @description The owners, each with the sums of its active quotas. */
            items: components["schemas"]["SmsOwner"][];
        };
        SmsQuota: {
            /**
             * Format: int64
             * @description Id of the quota.
             * @example 12
             */
            id: number;
            /**
             * @description 1 (total): `total` units until `expire_at`. 2 (cycle): `total` units per cycle. 3 (rolling): `total` units in any `window_seconds`; only caps.
             * @example 2
             * @enum {integer}
             */
            quota_type: 1 | 2 | 3;
            /**
             * Format: int64
             * @description The allowance, in the caller's unit.
             * @example 1000
             */
            total: number;
            /**
             * Format: int64
             * @description Units spent: type 2 (cycle) in the current cycle, type 3 (rolling) in the window. Can exceed `total` in an observe cap.
             * @example 20
             */
            used: number;
            /**
             * Format: int64
             * @description Units reserved by open holds.
             * @example 5
             */
            reserved: number;
            /**
             * Format: int64
             * @description max(0, total - used - reserved)
             * @example 975
             */
            remaining: number;
            /**
             * @description The status at the time of reading: `left` if it is a member's count whose group is no longer in the owner's chain, otherwise `disabled` if an administrator disabled the quota, otherwise `expired` from `expire_at` on, otherwise `active`.
             * @example active
             * @enum {string}
             */
            status: "active" | "disabled" | "expired" | "left";
            /**
             * Format: date-time
             * @description The time from which the quota is expired; null: never.
             * @example null
             */
            expire_at: string | null;
            /**
             * @description The length of a cycle; null for types 1 (total) and 3 (rolling).
             * @example month
             * @enum {string|null}
             */
            cycle_unit: "hour" | "day" | "week" | "month" | "year" | null;
            /**
             * Format: date-time
             * @description The next reset, even if it is after `expire_at`; null for types 1 (total) and 3 (rolling).
             * @example 2026-12-01T00:00:00.000Z
             */
            cycle_reset_at: string | null;
            /**
             * Format: date-time
             * @description Reset number 0, from which all others are counted; null for types 1 (total) and 3 (rolling).
             * @example 2026-12-01T00:00:00.000Z
             */
            cycle_anchor_at: string | null;
            /**
             * @description The IANA time zone whose calendar the cycle follows, as sent; null for types 1 (total) and 3 (rolling).
             * @example UTC
             */
            cycle_time_zone: string | null;
            /**
             * @description A name for people, as sent; null: none.
             * @example Spring campaign
             */
            label: string | null;
            /**
             * @description Null: the quota pays. Otherwise it is a cap: `enforce` limits what the owner consumes, `observe` only reports what it would have refused.
             * @example null
             * @enum {string|null}
             */
            cap: "enforce" | "observe" | null;
            /**
             * @description The window of a rolling cap, in seconds; null for types 1 (total) and 2 (cycle).
             * @example null
             */
            window_seconds: number | null;
            /**
             * @description Percentages of `total` at which `used` causes an event, ascending; null for type 3 (rolling).
             * @example [
             *       50,
             *       80
             *     ]
             */
            thresholds: number[] | null;
            /**
             * Format: int64
             * @description The group of a group's quota, and of a member's count; null for an owner's own quota.
             * @example null
             */
            group_id: number | null;
            /**
             * @description `group`: all members of the group share it. `member`: each has a count of its own. Null for an owner's own quota.
             * @example null
             * @enum {string|null}
             */
            per: "group" | "member" | null;
            /**
             * Format: int64
             * @description The quota whose settings this count of a member follows; null for every other quota.
             * @example null
             */
            follows: number | null;
            /**
             * @description The settings of a member's count that do not follow, ascending; null for every other quota.
             * @example null
             */
            overrides: ("total" | "status" | "expire_at" | "cycle_unit" | "cycle_reset_at" | "cycle_time_zone" | "label" | "cap" | "window_seconds" | "thresholds")[] | null;
            /**
             * Format: int64
             * @description Starts at 1 and is incremented by each edit of the settings, not by usage.
             * @example 3
             */
            version: number;
            /**
             * Format: date-time
             * @description Time of the creation.
             * @example 2026-12-01T00:00:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @description Time of the last edit, deletion, restore or reset; usage does not change it.
             * @example 2026-12-01T00:00:00.000Z
             */
            updated_at: string;
            /**
             * Format: int64
             * @description The user whom the quota limits. Null for a quota of a group.
             * @example 7
             */
            user_id: number | null;
        };
        SmsQuotaPage: {
            /**
             * Format: int64
             * @description Number of the page, from 1.
             * @example 1
             */
            page: number;
            /**
             * @description The requested size, 1 … 100.
             * @example 20
             */
            page_size: number;
            /**
             * Format: int64
             * @description Number of items in the whole list.
             * @example 57
             */
            total: number;
            /**
             * @description `exact` up to 10,000 items; above, the total is a count at most 60 seconds old.
             * @example exact
             * @enum {string}
             */
            total_relation: "exact" | "recent";
            /** @description The quotas. */
            items: components["schemas"]["SmsListedQuota"][];
        };
        SmsReserve: {
            /**
             * Format: int64
             * @description Units to reserve, all or none.
             * @example 5
             */
            amount: number;
            /**
             * @description The duration of the hold, in seconds, unless it is settled earlier.
             * @default 600
             * @example 600
             */
            ttl_seconds?: number;
            /**
             * Format: int64
             * @description The owner whose quotas hold the units.
             * @example 7
             */
            user_id: number;
        };
        SmsSummary: {
            /**
             * Format: int64
             * @description The group to which the owner belongs, or the default group; null: none.
             * @example null
             */
            group_id: number | null;
            /**
             * Format: int64
             * @description The sum of the active quotas' totals.
             * @example 1500
             */
            total: number;
            /**
             * Format: int64
             * @description The sum of their `used`.
             * @example 20
             */
            used: number;
            /**
             * Format: int64
             * @description The sum of their `reserved`.
             * @example 5
             */
            reserved: number;
            /**
             * Format: int64
             * @description The sum of their `remaining`. After a `total` was lowered, it can exceed total - used - reserved.
             * @example 1475
             */
            remaining: number;
            /**
             * @description Number of active quotas that pay.
             * @example 2
             */
            quota_count: number;
            /**
             * Format: int64
             * @description The largest amount that one consume can take now, with the shared quotas of its groups: what the quotas pay, limited by the remaining units of each enforce cap; 0 without an active quota that pays.
             * @example 1475
             */
            available: number;
            /**
             * @description The active caps, with those of its groups, ids ascending.
             * @example []
             */
            caps: components["schemas"]["Cap"][];
            /**
             * Format: int64
             * @description The user.
             * @example 7
             */
            user_id: number;
        };
        SmsThresholdEvent: {
            /**
             * Format: uuid
             * @description Id of the event, a UUIDv7.
             * @example 01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d
             */
            id: string;
            /**
             * Format: date-time
             * @description Time of the event.
             * @example 2026-12-01T00:00:00.000Z
             */
            at: string;
            /**
             * Format: int64
             * @description The group of the quota, or the one that the owner belonged to then; null: none.
             * @example null
             */
            group_id: number | null;
            /**
             * Format: int64
             * @description Id of the quota.
             * @example 12
             */
            quota_id: number;
            /**
             * @description The type of event.
             * @example quota.threshold_reached
             * @enum {string}
             */
            type: "quota.threshold_reached";
            /** @description The thresholds and the quota's state. */
            data: components["schemas"]["PassedThresholds"];
            /**
             * Format: int64
             * @description The owner of the quota; null for a quota of a group.
             * @example 7
             */
            user_id: number | null;
        };
        SmsTopRefusal: {
            /**
             * @description The reason. `quota_observed`: the request succeeded, but an observe cap would have refused it.
             * @example quota_exceeded
             * @enum {string}
             */
            code: "quota_exceeded" | "no_active_quota" | "quota_observed";
            /**
             * Format: int64
             * @description Number of refused attempts, including repeated ones.
             * @example 41
             */
            count: number;
            /**
             * Format: int64
             * @description The sum of the requested amounts.
             * @example 120
             */
            requested: number;
            /**
             * Format: date-time
             * @description The time of the last attempt.
             * @example 2026-12-01T00:00:00.000Z
             */
            last_at: string;
            /**
             * Format: int64
             * @description The refused owner.
             * @example 7
             */
            user_id: number;
        };
        SmsTopRefusals: {
            /** @description One item for each user and reason. */
            items: components["schemas"]["SmsTopRefusal"][];
        };
        Tested: {
            /**
             * @description HTTP status of the response, of mail the reply code; null without a response.
             * @example 204
             */
            status: number | null;
            /**
             * @description The reason of the failure; null after a success.
             * @example answered 500
             */
            error: string | null;
            /**
             * Format: int64
             * @description Duration in milliseconds.
             * @example 12
             */
            ms: number;
        };
        /** @description Too many new owners. */
        TooManyNewOwnersProblem: {
            /**
             * Format: uri
             * @description The problem type. `about:blank`: `code` identifies it.
             * @constant
             */
            type: "about:blank";
            /** @description The title of the code; the same for every problem of the code. */
            title: string;
            /**
             * @description The HTTP status.
             * @constant
             */
            status: 409;
            /** @description Describes this occurrence of the problem. */
            detail: string;
            /**
             * @description Identifies the problem; stable.
             * @constant
             */
            code: "too_many_new_owners";
            /** @description The request's id, as in X-Request-Id; in an item of a batch, that of the batch. */
            request_id: string;
        };
        /** @description The owner has too many quotas. */
        TooManyQuotasProblem: {
            /**
             * Format: uri
             * @description The problem type. `about:blank`: `code` identifies it.
             * @constant
             */
            type: "about:blank";
            /** @description The title of the code; the same for every problem of the code. */
            title: string;
            /**
             * @description The HTTP status.
             * @constant
             */
            status: 409;
            /** @description Describes this occurrence of the problem. */
            detail: string;
            /**
             * @description Identifies the problem; stable.
             * @constant
             */
            code: "too_many_quotas";
            /** @description The request's id, as in X-Request-Id; in an item of a batch, that of the batch. */
            request_id: string;
        };
        /** @description Too many rows wait in change sets. */
        TooManyRowsProblem: {
            /**
             * Format: uri
             * @description The problem type. `about:blank`: `code` identifies it.
             * @constant
             */
            type: "about:blank";
            /** @description The title of the code; the same for every problem of the code. */
            title: string;
            /**
             * @description The HTTP status.
             * @constant
             */
            status: 409;
            /** @description Describes this occurrence of the problem. */
            detail: string;
            /**
             * @description Identifies the problem; stable.
             * @constant
             */
            code: "too_many_rows";
            /** @description The request's id, as in X-Request-Id; in an item of a batch, that of the batch. */
            request_id: string;
        };
        /** @description A bearer token is needed. */
        UnauthenticatedProblem: {
            /**
             * Format: uri
             * @description The problem type. `about:blank`: `code` identifies it.
             * @constant
             */
            type: "about:blank";
            /** @description The title of the code; the same for every problem of the code. */
            title: string;
            /**
             * @description The HTTP status.
             * @constant
             */
            status: 401;
            /** @description Describes this occurrence of the problem. */
            detail: string;
            /**
             * @description Identifies the problem; stable.
             * @constant
             */
            code: "unauthenticated";
            /** @description The request's id, as in X-Request-Id; in an item of a batch, that of the batch. */
            request_id: string;
        };
        /** @description The service is not available. */
        UnavailableProblem: {
            /**
             * Format: uri
             * @description The problem type. `about:blank`: `code` identifies it.
             * @constant
             */
            type: "about:blank";
            /** @description The title of the code; the same for every problem of the code. */
            title: string;
            /**
             * @description The HTTP status.
             * @constant
             */
            status: 503;
            /** @description Describes this occurrence of the problem. */
            detail: string;
            /**
             * @description Identifies the problem; stable.
             * @constant
             */
            code: "unavailable";
            /** @description The request's id, as in X-Request-Id; in an item of a batch, that of the batch. */
            request_id: string;
        };
        /** @description The media type of the body is not supported. */
        UnsupportedMediaTypeProblem: {
            /**
             * Format: uri
             * @description The problem type. `about:blank`: `code` identifies it.
             * @constant
             */
            type: "about:blank";
            /** @description The title of the code; the same for every problem of the code. */
            title: string;
            /**
             * @description The HTTP status.
             * @constant
             */
            status: 415;
            /** @description Describes this occurrence of the problem. */
            detail: string;
            /**
             * @description Identifies the problem; stable.
             * @constant
             */
            code: "unsupported_media_type";
            /** @description The request's id, as in X-Request-Id; in an item of a batch, that of the batch. */
            request_id: string;
        };
        UpdateGroup: {
            /**
             * @description The name.
             * @example Spring campaign
             */
            name?: string;
            /**
             * Format: int64
             * @description The group above; null: none. In force at once for all members below.
             * @example 4
             */
            parent_id?: number | null;
            /**
             * @description Whether it is the group of every owner of the channel that is in none.
             * @example true
             */
            default?: boolean;
            /**
             * Format: int64
             * @description The version that the caller read. If it is not the current one, nothing changes, and the answer is `version_mismatch`.
             * @example 3
             */
            version?: number;
            /** @description Accepted and ignored. */
            id?: unknown;
            /** @description Accepted and ignored. */
            created_at?: unknown;
            /** @description Accepted and ignored. */
            updated_at?: unknown;
        };
        UpdateMailQuota: {
            /**
             * Format: int64
             * @description The allowance. It may be less than `used`; `remaining` is then 0.
             * @example 1000
             */
            total?: number;
            /**
             * @description `active` or `disabled`; `expired` and `left` only if the record shows them.
             * @example active
             * @enum {string}
             */
            status?: "active" | "disabled" | "expired" | "left";
            /**
             * Format: date-time
             * @description The expiry. A time in the past expires the quota at once. Types 2 (cycle) and 3 (rolling): null means never.
             * @example null
             */
            expire_at?: string | null;
            /**
             * @description Type 2 (cycle) only. A change keeps the next reset; later ones are counted from it in the new unit.
             * @example month
             * @enum {string|null}
             */
            cycle_unit?: "hour" | "day" | "week" | "month" | "year" | null;
            /**
             * Format: date-time
             * @description Type 2 (cycle) only. A new value must be in the future; it becomes the anchor and ends the current cycle.
             * @example 2099-12-01T00:00:00.000Z
             */
            cycle_reset_at?: string | null;
            /**
             * @description Type 2 (cycle) only. A change keeps the next reset; later ones are counted from it in the new zone.
             * @example UTC
             */
            cycle_time_zone?: string | null;
            /**
             * @description A name for people; null removes it.
             * @example Spring campaign
             */
            label?: string | null;
            /**
             * @description Caps only: `enforce` or `observe`. Null only if the record shows it.
             * @example null
             * @enum {string|null}
             */
            cap?: "enforce" | "observe" | null;
            /**
             * @description Type 3 (rolling) only. A change begins a new count.
             * @example 86400
             */
            window_seconds?: number | null;
            /**
             * @description Types 1 (total) and 2 (cycle): replaces all thresholds; `[]` removes them. Null only if the record shows it (type 3, rolling).
             * @example [
             *       50,
             *       80
             *     ]
             */
            thresholds?: number[] | null;
            /** @description Members' counts only: the settings that stay the count's own. Those of its overrides that are missing are given back: they follow again. Absent or null: all stay. */
            overrides?: ("total" | "status" | "expire_at" | "cycle_unit" | "cycle_reset_at" | "cycle_time_zone" | "label" | "cap" | "window_seconds" | "thresholds")[] | null;
            /**
             * Format: int64
             * @description The version that the caller read. If it is not the current one, nothing changes, and the answer is `version_mismatch`.
             * @example 3
             */
            version?: number;
            /** @description Accepted and ignored. */
            id?: unknown;
            /** @description Accepted and ignored. */
            account_id?: unknown;
            /** @description Accepted and ignored. */
            user_id?: unknown;
            /** @description Accepted and ignored. */
            quota_type?: unknown;
            /** @description Accepted and ignored. */
            used?: unknown;
            /** @description Accepted and ignored. */
            reserved?: unknown;
            /** @description Accepted and ignored. */
            remaining?: unknown;
            /** @description Accepted and ignored. */
            cycle_anchor_at?: unknown;
            /** @description Accepted and ignored. */
            group_id?: unknown;
            /** @description Accepted and ignored. */
            per?: unknown;
            /** @description Accepted and ignored. */
            follows?: unknown;
            /** @description Accepted and ignored. */
            created_at?: unknown;
            /** @description Accepted and ignored. */
            updated_at?: unknown;
            /** @description Accepted and ignored. */
            deleted_at?: unknown;
        };
        UpdateSmsQuota: {
            /**
             * Format: int64
             * @description The allowance. It may be less than `used`; `remaining` is then 0.
             * @example 1000
             */
            total?: number;
            /**
             * @description `active` or `disabled`; `expired` and `left` only if the record shows them.
             * @example active
             * @enum {string}
             */
            status?: "active" | "disabled" | "expired" | "left";
            /**
             * Format: date-time
             * @description The expiry. A time in the past expires the quota at once. Types 2 (cycle) and 3 (rolling): null means never.
             * @example null
             */
            expire_at?: string | null;
            /**
             * @description Type 2 (cycle) only. A change keeps the next reset; later ones are counted from it in the new unit.
             * @example month
             * @enum {string|null}
             */
            cycle_unit?: "hour" | "day" | "week" | "month" | "year" | null;
            /**
             * Format: date-time
             * @description Type 2 (cycle) only. A new value must be in the future; it becomes the anchor and ends the current cycle.
             * @example 2099-12-01T00:00:00.000Z
             */
            cycle_reset_at?: string | null;
            /**
             * @description Type 2 (cycle) only. A change keeps the next reset; later ones are counted from it in the new zone.
             * @example UTC
             */
            cycle_time_zone?: string | null;
            /**
             * @description A name for people; null removes it.
             * @example Spring campaign
             */
            label?: string | null;
            /**
             * @description Caps only: `enforce` or `observe`. Null only if the record shows it.
             * @example null
             * @enum {string|null}
             */
            cap?: "enforce" | "observe" | null;
            /**
             * @description Type 3 (rolling) only. A change begins a new count.
             * @example 86400
             */
            window_seconds?: number | null;
            /**
             * @description Types 1 (total) and 2 (cycle): replaces all thresholds; `[]` removes them. Null only if the record shows it (type 3, rolling).
             * @example [
             *       50,
             *       80
             *     ]
             */
            thresholds?: number[] | null;
            /** @description Members' counts only: the settings that stay the count's own. Those of its overrides that are missing are given back: they follow again. Absent or null: all stay. */
            overrides?: ("total" | "status" | "expire_at" | "cycle_unit" | "cycle_reset_at" | "cycle_time_zone" | "label" | "cap" | "window_seconds" | "thresholds")[] | null;
            /**
             * Format: int64
             * @description The version that the caller read. If it is not the current one, nothing changes, and the answer is `version_mismatch`.
             * @example 3
             */
            version?: number;
            /** @description Accepted and ignored. */
            id?: unknown;
            /** @description Accepted and ignored. */
            user_id?: unknown;
            /** @description Accepted and ignored. */
            quota_type?: unknown;
            /** @description Accepted and ignored. */
            used?: unknown;
            /** @description Accepted and ignored. */
            reserved?: unknown;
            /** @description Accepted and ignored. */
            remaining?: unknown;
            /** @description Accepted and ignored. */
            cycle_anchor_at?: unknown;
            /** @description Accepted and ignored. */
            group_id?: unknown;
            /** @description Accepted and ignored. */
            per?: unknown;
            /** @description Accepted and ignored. */
            follows?: unknown;
            /** @description Accepted and ignored. */
            created_at?: unknown;
            /** @description Accepted and ignored. */
            updated_at?: unknown;
            /** @description Accepted and ignored. */
            deleted_at?: unknown;
        };
        UsageStep: {
            /**
             * Format: date-time
             * @description The beginning of the step.
             * @example 2026-12-01T00:00:00.000Z
             */
            began_at: string;
            /**
             * Format: int64
             * @description Units charged by consumes and commits in this step, gross.
             * @example 120
             */
            charged: number;
            /**
             * Format: int64
             * @description Units returned by refunds in this step, whenever they were charged.
             * @example 5
             */
            refunded: number;
            /**
             * Format: int64
             * @description Units requested by refused attempts; null for a quota, since an attempt belongs to an owner, and with `all`.
             * @example 40
             */
            refused: number | null;
            /**
             * Format: int64
             * @description Number of refused attempts; null for a quota and with `all`.
             * @example 8
             */
            refusals: number | null;
        };
        /** @description The request is not valid. */
        ValidationFailedProblem: {
            /**
             * Format: uri
             * @description The problem type. `about:blank`: `code` identifies it.
             * @constant
             */
            type: "about:blank";
            /** @description The title of the code; the same for every problem of the code. */
            title: string;
            /**
             * @description The HTTP status.
             * @constant
             */
            status: 400;
            /** @description Describes this occurrence of the problem. */
            detail: string;
            /**
             * @description Identifies the problem; stable.
             * @constant
             */
            code: "validation_failed";
            /** @description The request's id, as in X-Request-Id; in an item of a batch, that of the batch. */
            request_id: string;
            /** @description All fields with mistakes. */
            errors: components["schemas"]["FieldError"][];
        };
        /** @description The record has changed. */
        VersionMismatchProblem: {
            /**
             * Format: uri
             * @description The problem type. `about:blank`: `code` identifies it.
             * @constant
             */
            type: "about:blank";
            /** @description The title of the code; the same for every problem of the code. */
            title: string;
            /**
             * @description The HTTP status.
             * @constant
             */
            status: 409;
            /** @description Describes this occurrence of the problem. */
            detail: string;
            /**
             * @description Identifies the problem; stable.
             * @constant
             */
            code: "version_mismatch";
            /** @description The request's id, as in X-Request-Id; in an item of a batch, that of the batch. */
            request_id: string;
            /**
             * Format: int64
             * @description The current version.
             */
            version: number;
        };
        Webhook: {
            /**
             * @description Its name in the operator's file.
             * @example ops
             */
            name: string;
            /**
             * @description Program, chat or mailboxes; null if this instance does not know it.
             * @example webhook
             * @enum {string|null}
             */
            kind: "webhook" | "slack" | "mail" | null;
            /**
             * @description Its URL without query and user, of a chat also without its path, of mail that of the mail server; null if this
             *     instance does not know it.
             * @example https://ops.example.com/hooks/quota
             */
            url: string | null;
            /**
             * @description The types of events that it receives.
             * @example [
             *       "quota.threshold_reached"
             *     ]
             */
            types: ("quota.threshold_reached" | "quota.created" | "quota.updated" | "quota.deleted" | "quota.restored" | "quota.reset" | "owner.refused" | "owner.recovered")[];
            /**
             * @description The channels whose events it receives.
             * @example [
             *       "mail"
             *     ]
             */
            channels: ("mail" | "sms")[];
            /**
             * @description `disabled`: it answered 410. `removed`: the file of no live instance contains it.
             * @example active
             * @enum {string}
             */
            state: "active" | "disabled" | "removed";
            /**
             * Format: int64
             * @description Number of events delivered.
             * @example 1812
             */
            delivered: number;
            /**
             * Format: int64
             * @description Number of events whose delivery was given up.
             * @example 0
             */
            failed: number;
            /**
             * Format: int64
             * @description Number of events waiting for delivery.
             * @example 3
             */
            waiting: number;
            /**
             * Format: date-time
             * @description Time of the oldest waiting event; null if none waits.
             * @example 2026-12-01T00:00:00.000Z
             */
            oldest_waiting_at: string | null;
            /** @description The last attempt; null before the first one. */
            last_attempt: components["schemas"]["WebhookAttempt"] | null;
        };
        WebhookAttempt: {
            /**
             * Format: date-time
             * @description Time at which the attempt ended.
             * @example 2026-12-01T00:00:00.000Z
             */
            at: string;
            /**
             * @description HTTP status of the response, of mail the reply code; null without a response.
             * @example 204
             */
            status: number | null;
            /**
             * @description The reason of the failure; null after a success.
             * @example answered 500
             */
            error: string | null;
        };
        /** @description The webhook is disabled. */
        WebhookDisabledProblem: {
            /**
             * Format: uri
             * @description The problem type. `about:blank`: `code` identifies it.
             * @constant
             */
            type: "about:blank";
            /** @description The title of the code; the same for every problem of the code. */
            title: string;
            /**
             * @description The HTTP status.
             * @constant
             */
            status: 409;
            /** @description Describes this occurrence of the problem. */
            detail: string;
            /**
             * @description Identifies the problem; stable.
             * @constant
             */
            code: "webhook_disabled";
            /** @description The request's id, as in X-Request-Id; in an item of a batch, that of the batch. */
            request_id: string;
        };
        /** @description There is no such webhook. */
        WebhookNotFoundProblem: {
            /**
             * Format: uri
             * @description The problem type. `about:blank`: `code` identifies it.
             * @constant
             */
            type: "about:blank";
            /** @description The title of the code; the same for every problem of the code. */
            title: string;
            /**
             * @description The HTTP status.
             * @constant
             */
            status: 404;
            /** @description Describes this occurrence of the problem. */
            detail: string;
            /**
             * @description Identifies the problem; stable.
             * @constant
             */
            code: "webhook_not_found";
            /** @description The request's id, as in X-Request-Id; in an item of a batch, that of the batch. */
            request_id: string;
        };
        Webhooks: {
            /** @description The endpoints. */
            items: components["schemas"]["Webhook"][];
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    smsQuotaCreate: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateSmsQuota"];
            };
        };
        responses: {
            /** @description Done. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SmsQuota"];
                };
            };
        };
    };
    smsOfficeCapTrial: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SmsCapTrial"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CapTrial"];
                };
            };
        };
    };
    smsChangeSetList: {
        parameters: {
            query?: {
                /** @description Returns only change sets in this state. */
                state?: "preparing" | "ready" | "applying" | "applied" | "reverting" | "reverted" | "failed";
                /** @description Returns only change sets with a smaller id. Pass the `next_before` of the previous page. */
                before?: number;
                /** @description Number of change sets on the page. */
                page_size?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangeSetsPage"];
                };
            };
        };
    };
    smsChangeSetCreate: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewSmsChangeSet"];
            };
        };
        responses: {
            /** @description Done. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangeSet"];
                };
            };
        };
    };
    smsChangeSetGet: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangeSet"];
                };
            };
        };
    };
    smsChangeSetRemove: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Dropped. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    smsChangeSetApply: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Apply"];
            };
        };
        responses: {
            /** @description Done. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangeSet"];
                };
            };
        };
    };
    smsChangeSetRevert: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Revert"];
            };
        };
        responses: {
            /** @description Done. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangeSet"];
                };
            };
        };
    };
    smsChangeSetRows: {
        parameters: {
            query?: {
                /** @description Returns only rows with this outcome. */
                outcome?: "planned" | "unchanged" | "invalid" | "applied" | "conflict" | "reverted" | "kept";
                /** @description Adds the label of its quota to each row. */
                labels?: "true";
                /** @description Returns only rows after this one. Pass the `next_after` of the previous page. */
                after?: number;
                /** @description Number of rows on the page. */
                page_size?: number;
            };
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SmsChangeSetRowsPage"];
                };
            };
        };
    };
    smsChangeSetRowsCsv: {
        parameters: {
            query?: {
                /** @description Returns only rows with this outcome. */
                outcome?: "planned" | "unchanged" | "invalid" | "applied" | "conflict" | "reverted" | "kept";
            };
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file, streamed. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/csv": string;
                };
            };
        };
    };
    smsOfficeChanges: {
        parameters: {
            query?: {
                /** @description Returns only changes that the principal of this name made. */
                actor?: string;
                /** @description Returns only changes with this action. */
                action?: "create" | "update" | "delete" | "restore" | "reset" | "members" | "erase";
                /** @description Returns only changes of this group and of its quotas. */
                group_id?: number;
                /** @description Returns only changes of this quota. */
                quota_id?: number;
                /** @description Returns only changes that the request with this X-Request-Id made. */
                request_id?: string;
                /** @description Returns only changes at or after this time. */
                from?: string;
                /** @description Returns only changes before this time. */
                to?: string;
                /** @description Returns only changes with a smaller id. Pass the `next_before` of the previous page. */
                before?: number;
                /** @description Number of changes on the page. */
                page_size?: number;
                /** @description Returns only entries of this user's quotas. */
                user_id?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SmsChangesPage"];
                };
            };
        };
    };
    smsOfficeEvents: {
        parameters: {
            query?: {
                /** @description Returns only events after this cursor: the `next_after` of an earlier page, or `latest` for the end of the feed. Default: the first event that is kept. */
                after?: string;
                /** @description Returns only events of this type. */
                type?: "quota.threshold_reached" | "quota.created" | "quota.updated" | "quota.deleted" | "quota.restored" | "quota.reset" | "owner.refused" | "owner.recovered";
                /** @description Returns only events of this group: of its quotas, and of owners that belonged to it then. */
                group_id?: number;
                /** @description Returns only events of this quota. */
                quota_id?: number;
                /** @description Number of events on the page. */
                page_size?: number;
                /** @description Returns only entries of this user's quotas. */
                user_id?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SmsEventsPage"];
                };
            };
        };
    };
    smsOfficeExpiring: {
        parameters: {
            query?: {
                /** @description Returns only quotas that expire within this many days of 24 hours. */
                days?: number;
                /** @description The `next_cursor` of the previous page. Send the same `days` again. */
                cursor?: string;
                /** @description Number of quotas on the page. */
                page_size?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SmsExpiringPage"];
                };
            };
        };
    };
    smsChangeSetExport: {
        parameters: {
            query?: {
                /** @description Returns only quotas that have this status now. */
                status?: "active" | "disabled" | "expired" | "left";
                /** @description Returns only deleted quotas, with `deleted_at`. Other lists do not contain them. */
                deleted?: "true";
                /** @description Returns only caps of this kind; `none`: only quotas that pay. */
                cap?: "enforce" | "observe" | "none";
                /** @description Returns only the quotas of this group, not the counts of its members. */
                group_id?: number;
                /** @description Returns only the counts of members that follow this quota. */
                follows?: number;
                /** @description Returns only quotas whose label begins with this text. Case is ignored, accents are not; there are no wildcards. */
                label?: string;
                /** @description Returns only quotas of this user. */
                user_id?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file, streamed. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/csv": string;
                };
            };
        };
    };
    smsGroupList: {
        parameters: {
            query?: {
                /** @description Number of the page, from 1. */
                page?: number;
                /** @description Number of rows on the page. */
                page_size?: number;
                /** @description Returns only rows with a smaller id. Pages through a list of any length. Cannot be combined with `page`. */
                before_id?: number;
                /** @description Returns only groups whose name begins with this text. Case is ignored, accents are not; there are no wildcards. */
                name?: string;
                /** @description Returns only groups directly below this one. */
                parent_id?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GroupPage"];
                };
            };
        };
    };
    smsGroupCreate: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateGroup"];
            };
        };
        responses: {
            /** @description Done. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Group"];
                };
            };
        };
    };
    smsGroupGet: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Group"];
                };
            };
        };
    };
    smsGroupUpdate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdateGroup"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Group"];
                };
            };
        };
    };
    smsGroupRemove: {
        parameters: {
            query?: {
                /** @description The version that the caller read. If it is not the current one, nothing is deleted. */
                version?: number;
            };
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    smsGroupCapTrial: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["GroupCapTrial"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CapTrial"];
                };
            };
        };
    };
    smsGroupChanges: {
        parameters: {
            query?: {
                /** @description Number of the page, from 1. */
                page?: number;
                /** @description Number of rows on the page. */
                page_size?: number;
            };
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SmsChangePage"];
                };
            };
        };
    };
    smsGroupMembers: {
        parameters: {
            query?: {
                /** @description Returns only members with a larger id. Pass the `next_after` of the previous page. */
                after?: number;
                /** @description Number of members on the page. */
                page_size?: number;
            };
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SmsMembersPage"];
                };
            };
        };
    };
    smsGroupAddMembers: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SmsAddMembers"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MembersAdded"];
                };
            };
        };
    };
    smsGroupRemoveMember: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                user_id: number;
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Removed. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    smsGroupRestore: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Group"];
                };
            };
        };
    };
    smsGroupSummary: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GroupSummary"];
                };
            };
        };
    };
    smsChangeSetImport: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "text/csv": string;
            };
        };
        responses: {
            /** @description Done. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangeSet"];
                };
            };
        };
    };
    smsQuotaList: {
        parameters: {
            query?: {
                /** @description Number of the page, from 1. */
                page?: number;
                /** @description Number of rows on the page. */
                page_size?: number;
                /** @description Returns only rows with a smaller id. Pages through a list of any length. Cannot be combined with `page`. */
                before_id?: number;
                /** @description Returns only quotas that have this status now. */
                status?: "active" | "disabled" | "expired" | "left";
                /** @description Returns only deleted quotas, with `deleted_at`. Other lists do not contain them. */
                deleted?: "true";
                /** @description Returns only caps of this kind; `none`: only quotas that pay. */
                cap?: "enforce" | "observe" | "none";
                /** @description Returns only the quotas of this group, not the counts of its members. */
                group_id?: number;
                /** @description Returns only the counts of members that follow this quota. */
                follows?: number;
                /** @description Returns only quotas whose label begins with this text. Case is ignored, accents are not; there are no wildcards. */
                label?: string;
                /** @description Returns only quotas of this user. */
                user_id?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SmsQuotaPage"];
                };
            };
        };
    };
    smsOfficeOwners: {
        parameters: {
            query?: {
                /** @description Returns the direct members of this group, with or without a quota. */
                group_id?: number;
                /** @description Returns only owners with a larger id. Pass the `next_after` of the previous page. */
                after?: number;
                /** @description Number of owners on the page. */
                page_size?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SmsOwnersPage"];
                };
            };
        };
    };
    smsLinkCreate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                user_id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["CreateLink"];
            };
        };
        responses: {
            /** @description Done. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Link"];
                };
            };
        };
    };
    smsLinkRevoke: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                user_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Revoked. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    smsOfficeRefusals: {
        parameters: {
            query?: {
                /** @description Returns the sums over all owners, of 7 days at most. */
                all?: "true";
                /** @description Returns only hours that begin at or after this time, at most 31 days ago, with `all` 7 days. Default: the earliest such time. */
                from?: string;
                /** @description Returns only hours that begin before this time. */
                to?: string;
                /** @description Adds the refused amounts to each count of an owner. */
                amounts?: "true";
                /** @description Returns only refusals of this user. */
                user_id?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Refusals"];
                };
            };
        };
    };
    smsOfficeTopRefusals: {
        parameters: {
            query?: {
                /** @description Returns only present members of this group and of the groups below it. */
                group_id?: number;
                /** @description Number of hours, including the current one. */
                hours?: number;
                /** @description Number of items. */
                page_size?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SmsTopRefusals"];
                };
            };
        };
    };
    smsQuotaSummary: {
        parameters: {
            query: {
                /** @description Id of the user. */
                user_id: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SmsSummary"];
                };
            };
        };
    };
    smsQuotaGet: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SmsQuota"];
                };
            };
        };
    };
    smsQuotaUpdate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdateSmsQuota"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SmsQuota"];
                };
            };
        };
    };
    smsQuotaRemove: {
        parameters: {
            query?: {
                /** @description The version that the caller read. If it is not the current one, nothing is deleted. */
                version?: number;
            };
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    smsQuotaChanges: {
        parameters: {
            query?: {
                /** @description Number of the page, from 1. */
                page?: number;
                /** @description Number of rows on the page. */
                page_size?: number;
            };
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SmsChangePage"];
                };
            };
        };
    };
    smsQuotaReset: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Reset"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SmsQuota"];
                };
            };
        };
    };
    smsQuotaRestore: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SmsQuota"];
                };
            };
        };
    };
    smsUsageList: {
        parameters: {
            query?: {
                /** @description Returns only operations that this quota paid for in part, or that this cap counted. The quota may be deleted. */
                quota_id?: number;
                /** @description Returns only the operation that this key created or refunded; with `caller=*`, one for each caller that sent the key. */
                idempotency_key?: string;
                /** @description Returns the channel's newest operations. A page examines at most 2000 acts, so that it may have fewer items, or none, although others follow. */
                all?: "true";
                /** @description Name of the principal that sent the key. Default: the caller. `*`: every principal that spent in this channel in the last 31 days, newest operation first, at most 20. Another name, and `*`, require the role of the quotas' routes. */
                caller?: string;
                /** @description Returns only operations in this state. */
                state?: "consumed" | "reserved" | "committed" | "released" | "expired";
                /** @description Returns only operations of this kind. */
                kind?: "consume" | "reserve";
                /** @description Returns only operations created at or after this time. */
                from?: string;
                /** @description Returns only operations created before this time. */
                to?: string;
                /** @description Returns only operations older than this one. Pass the `next_before` of the previous page. */
                before?: string;
                /** @description Number of operations on the page. */
                page_size?: number;
                /** @description Adds to each operation its principal and its key. */
                made_by?: "true";
                /** @description Returns only operations of this owner. */
                user_id?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SmsLedgerPage"];
                };
            };
        };
    };
    smsUsageCheck: {
        parameters: {
            query: {
                /** @description Units to check. */
                amount: number;
                /** @description The owner to check. */
                user_id: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Check"];
                };
            };
        };
    };
    smsUsageConsume: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SmsConsume"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SmsOperation"];
                };
            };
        };
    };
    smsUsageConsumeBatch: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SmsBatch"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SmsBatchAnswer"];
                };
            };
        };
    };
    smsUsageReserve: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SmsReserve"];
            };
        };
        responses: {
            /** @description Done. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SmsOperation"];
                };
            };
        };
    };
    smsUsageSeries: {
        parameters: {
            query?: {
                /** @description Returns only usage of this quota, which may be deleted. */
                quota_id?: number;
                /** @description Returns the sums over all owners, without refusals. */
                all?: "true";
                /** @description The length of a step. Hours and days begin in UTC. */
                step?: "day" | "hour";
                /** @description Returns only steps that begin at or after this time; hours at most 31 days ago. Default: 30 days or 24 hours in total. */
                from?: string;
                /** @description Returns only steps that begin before this time. Default: the present. A series of days has at most 366. */
                to?: string;
                /** @description Returns only usage of this owner. */
                user_id?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Series"];
                };
            };
        };
    };
    smsUsageGet: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                operationId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SmsOperation"];
                };
            };
        };
    };
    smsUsageActs: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                operationId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Acts"];
                };
            };
        };
    };
    smsUsageCommit: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                operationId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Commit"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SmsOperation"];
                };
            };
        };
    };
    smsUsageRefund: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                operationId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Refund"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SmsOperation"];
                };
            };
        };
    };
    smsUsageRelease: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                operationId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SmsOperation"];
                };
            };
        };
    };
    meShow: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Me"];
                };
            };
        };
    };
    mailQuotaList: {
        parameters: {
            query?: {
                /** @description Number of the page, from 1. */
                page?: number;
                /** @description Number of rows on the page. */
                page_size?: number;
                /** @description Returns only rows with a smaller id. Pages through a list of any length. Cannot be combined with `page`. */
                before_id?: number;
                /** @description Returns only quotas that have this status now. */
                status?: "active" | "disabled" | "expired" | "left";
                /** @description Returns only deleted quotas, with `deleted_at`. Other lists do not contain them. */
                deleted?: "true";
                /** @description Returns only caps of this kind; `none`: only quotas that pay. */
                cap?: "enforce" | "observe" | "none";
                /** @description Returns only the quotas of this group, not the counts of its members. */
                group_id?: number;
                /** @description Returns only the counts of members that follow this quota. */
                follows?: number;
                /** @description Returns only quotas whose label begins with this text. Case is ignored, accents are not; there are no wildcards. */
                label?: string;
                /** @description Returns only quotas of this account. */
                account_id?: number;
                /** @description Only those that name this user. */
                user_id?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MailQuotaPage"];
                };
            };
        };
    };
    mailQuotaCreate: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateMailQuota"];
            };
        };
        responses: {
            /** @description Done. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MailQuota"];
                };
            };
        };
    };
    mailOfficeCapTrial: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MailCapTrial"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CapTrial"];
                };
            };
        };
    };
    mailChangeSetList: {
        parameters: {
            query?: {
                /** @description Returns only change sets in this state. */
                state?: "preparing" | "ready" | "applying" | "applied" | "reverting" | "reverted" | "failed";
                /** @description Returns only change sets with a smaller id. Pass the `next_before` of the previous page. */
                before?: number;
                /** @description Number of change sets on the page. */
                page_size?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangeSetsPage"];
                };
            };
        };
    };
    mailChangeSetCreate: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewMailChangeSet"];
            };
        };
        responses: {
            /** @description Done. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangeSet"];
                };
            };
        };
    };
    mailChangeSetGet: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangeSet"];
                };
            };
        };
    };
    mailChangeSetRemove: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Dropped. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    mailChangeSetApply: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Apply"];
            };
        };
        responses: {
            /** @description Done. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangeSet"];
                };
            };
        };
    };
    mailChangeSetRevert: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Revert"];
            };
        };
        responses: {
            /** @description Done. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangeSet"];
                };
            };
        };
    };
    mailChangeSetRows: {
        parameters: {
            query?: {
                /** @description Returns only rows with this outcome. */
                outcome?: "planned" | "unchanged" | "invalid" | "applied" | "conflict" | "reverted" | "kept";
                /** @description Adds the label of its quota to each row. */
                labels?: "true";
                /** @description Returns only rows after this one. Pass the `next_after` of the previous page. */
                after?: number;
                /** @description Number of rows on the page. */
                page_size?: number;
            };
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MailChangeSetRowsPage"];
                };
            };
        };
    };
    mailChangeSetRowsCsv: {
        parameters: {
            query?: {
                /** @description Returns only rows with this outcome. */
                outcome?: "planned" | "unchanged" | "invalid" | "applied" | "conflict" | "reverted" | "kept";
            };
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file, streamed. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/csv": string;
                };
            };
        };
    };
    mailOfficeChanges: {
        parameters: {
            query?: {
                /** @description Returns only changes that the principal of this name made. */
                actor?: string;
                /** @description Returns only changes with this action. */
                action?: "create" | "update" | "delete" | "restore" | "reset" | "members" | "erase";
                /** @description Returns only changes of this group and of its quotas. */
                group_id?: number;
                /** @description Returns only changes of this quota. */
                quota_id?: number;
                /** @description Returns only changes that the request with this X-Request-Id made. */
                request_id?: string;
                /** @description Returns only changes at or after this time. */
                from?: string;
                /** @description Returns only changes before this time. */
                to?: string;
                /** @description Returns only changes with a smaller id. Pass the `next_before` of the previous page. */
                before?: number;
                /** @description Number of changes on the page. */
                page_size?: number;
                /** @description Returns only entries of this account's quotas. */
                account_id?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MailChangesPage"];
                };
            };
        };
    };
    mailOfficeEvents: {
        parameters: {
            query?: {
                /** @description Returns only events after this cursor: the `next_after` of an earlier page, or `latest` for the end of the feed. Default: the first event that is kept. */
                after?: string;
                /** @description Returns only events of this type. */
                type?: "quota.threshold_reached" | "quota.created" | "quota.updated" | "quota.deleted" | "quota.restored" | "quota.reset" | "owner.refused" | "owner.recovered";
                /** @description Returns only events of this group: of its quotas, and of owners that belonged to it then. */
                group_id?: number;
                /** @description Returns only events of this quota. */
                quota_id?: number;
                /** @description Number of events on the page. */
                page_size?: number;
                /** @description Returns only entries of this account's quotas. */
                account_id?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MailEventsPage"];
                };
            };
        };
    };
    mailOfficeExpiring: {
        parameters: {
            query?: {
                /** @description Returns only quotas that expire within this many days of 24 hours. */
                days?: number;
                /** @description The `next_cursor` of the previous page. Send the same `days` again. */
                cursor?: string;
                /** @description Number of quotas on the page. */
                page_size?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MailExpiringPage"];
                };
            };
        };
    };
    mailChangeSetExport: {
        parameters: {
            query?: {
                /** @description Returns only quotas that have this status now. */
                status?: "active" | "disabled" | "expired" | "left";
                /** @description Returns only deleted quotas, with `deleted_at`. Other lists do not contain them. */
                deleted?: "true";
                /** @description Returns only caps of this kind; `none`: only quotas that pay. */
                cap?: "enforce" | "observe" | "none";
                /** @description Returns only the quotas of this group, not the counts of its members. */
                group_id?: number;
                /** @description Returns only the counts of members that follow this quota. */
                follows?: number;
                /** @description Returns only quotas whose label begins with this text. Case is ignored, accents are not; there are no wildcards. */
                label?: string;
                /** @description Returns only quotas of this account. */
                account_id?: number;
                /** @description Only those that name this user. */
                user_id?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file, streamed. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/csv": string;
                };
            };
        };
    };
    mailGroupList: {
        parameters: {
            query?: {
                /** @description Number of the page, from 1. */
                page?: number;
                /** @description Number of rows on the page. */
                page_size?: number;
                /** @description Returns only rows with a smaller id. Pages through a list of any length. Cannot be combined with `page`. */
                before_id?: number;
                /** @description Returns only groups whose name begins with this text. Case is ignored, accents are not; there are no wildcards. */
                name?: string;
                /** @description Returns only groups directly below this one. */
                parent_id?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GroupPage"];
                };
            };
        };
    };
    mailGroupCreate: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateGroup"];
            };
        };
        responses: {
            /** @description Done. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Group"];
                };
            };
        };
    };
    mailGroupGet: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Group"];
                };
            };
        };
    };
    mailGroupUpdate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdateGroup"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Group"];
                };
            };
        };
    };
    mailGroupRemove: {
        parameters: {
            query?: {
                /** @description The version that the caller read. If it is not the current one, nothing is deleted. */
                version?: number;
            };
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    mailGroupCapTrial: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["GroupCapTrial"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CapTrial"];
                };
            };
        };
    };
    mailGroupChanges: {
        parameters: {
            query?: {
                /** @description Number of the page, from 1. */
                page?: number;
                /** @description Number of rows on the page. */
                page_size?: number;
            };
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MailChangePage"];
                };
            };
        };
    };
    mailGroupMembers: {
        parameters: {
            query?: {
                /** @description Returns only members with a larger id. Pass the `next_after` of the previous page. */
                after?: number;
                /** @description Number of members on the page. */
                page_size?: number;
            };
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MailMembersPage"];
                };
            };
        };
    };
    mailGroupAddMembers: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MailAddMembers"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MembersAdded"];
                };
            };
        };
    };
    mailGroupRemoveMember: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                account_id: number;
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Removed. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    mailGroupRestore: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Group"];
                };
            };
        };
    };
    mailGroupSummary: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GroupSummary"];
                };
            };
        };
    };
    mailChangeSetImport: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "text/csv": string;
            };
        };
        responses: {
            /** @description Done. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangeSet"];
                };
            };
        };
    };
    mailOfficeOwners: {
        parameters: {
            query?: {
                /** @description Returns the direct members of this group, with or without a quota. */
                group_id?: number;
                /** @description Returns only owners with a larger id. Pass the `next_after` of the previous page. */
                after?: number;
                /** @description Number of owners on the page. */
                page_size?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MailOwnersPage"];
                };
            };
        };
    };
    mailLinkCreate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                account_id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["CreateLink"];
            };
        };
        responses: {
            /** @description Done. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Link"];
                };
            };
        };
    };
    mailLinkRevoke: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                account_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Revoked. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    mailOfficeRefusals: {
        parameters: {
            query?: {
                /** @description Returns the sums over all owners, of 7 days at most. */
                all?: "true";
                /** @description Returns only hours that begin at or after this time, at most 31 days ago, with `all` 7 days. Default: the earliest such time. */
                from?: string;
                /** @description Returns only hours that begin before this time. */
                to?: string;
                /** @description Adds the refused amounts to each count of an owner. */
                amounts?: "true";
                /** @description Returns only refusals of this account. */
                account_id?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Refusals"];
                };
            };
        };
    };
    mailOfficeTopRefusals: {
        parameters: {
            query?: {
                /** @description Returns only present members of this group and of the groups below it. */
                group_id?: number;
                /** @description Number of hours, including the current one. */
                hours?: number;
                /** @description Number of items. */
                page_size?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MailTopRefusals"];
                };
            };
        };
    };
    mailQuotaSummary: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                accountID: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MailSummary"];
                };
            };
        };
    };
    mailUsageList: {
        parameters: {
            query?: {
                /** @description Returns only operations that this quota paid for in part, or that this cap counted. The quota may be deleted. */
                quota_id?: number;
                /** @description Returns only the operation that this key created or refunded; with `caller=*`, one for each caller that sent the key. */
                idempotency_key?: string;
                /** @description Returns the channel's newest operations. A page examines at most 2000 acts, so that it may have fewer items, or none, although others follow. */
                all?: "true";
                /** @description Name of the principal that sent the key. Default: the caller. `*`: every principal that spent in this channel in the last 31 days, newest operation first, at most 20. Another name, and `*`, require the role of the quotas' routes. */
                caller?: string;
                /** @description Returns only operations in this state. */
                state?: "consumed" | "reserved" | "committed" | "released" | "expired";
                /** @description Returns only operations of this kind. */
                kind?: "consume" | "reserve";
                /** @description Returns only operations created at or after this time. */
                from?: string;
                /** @description Returns only operations created before this time. */
                to?: string;
                /** @description Returns only operations older than this one. Pass the `next_before` of the previous page. */
                before?: string;
                /** @description Number of operations on the page. */
                page_size?: number;
                /** @description Adds to each operation its principal and its key. */
                made_by?: "true";
                /** @description Returns only operations of this owner. */
                account_id?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MailLedgerPage"];
                };
            };
        };
    };
    mailUsageCheck: {
        parameters: {
            query: {
                /** @description Units to check. */
                amount: number;
                /** @description The owner to check. */
                account_id: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Check"];
                };
            };
        };
    };
    mailUsageConsume: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MailConsume"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MailOperation"];
                };
            };
        };
    };
    mailUsageConsumeBatch: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MailBatch"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MailBatchAnswer"];
                };
            };
        };
    };
    mailUsageReserve: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MailReserve"];
            };
        };
        responses: {
            /** @description Done. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MailOperation"];
                };
            };
        };
    };
    mailUsageSeries: {
        parameters: {
            query?: {
                /** @description Returns only usage of this quota, which may be deleted. */
                quota_id?: number;
                /** @description Returns the sums over all owners, without refusals. */
                all?: "true";
                /** @description The length of a step. Hours and days begin in UTC. */
                step?: "day" | "hour";
                /** @description Returns only steps that begin at or after this time; hours at most 31 days ago. Default: 30 days or 24 hours in total. */
                from?: string;
                /** @description Returns only steps that begin before this time. Default: the present. A series of days has at most 366. */
                to?: string;
                /** @description Returns only usage of this owner. */
                account_id?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Series"];
                };
            };
        };
    };
    mailUsageGet: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                operationId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MailOperation"];
                };
            };
        };
    };
    mailUsageActs: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                operationId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Acts"];
                };
            };
        };
    };
    mailUsageCommit: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                operationId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Commit"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MailOperation"];
                };
            };
        };
    };
    mailUsageRefund: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                operationId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Refund"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MailOperation"];
                };
            };
        };
    };
    mailUsageRelease: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                operationId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MailOperation"];
                };
            };
        };
    };
    mailQuotaGet: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MailQuota"];
                };
            };
        };
    };
    mailQuotaUpdate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdateMailQuota"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MailQuota"];
                };
            };
        };
    };
    mailQuotaRemove: {
        parameters: {
            query?: {
                /** @description The version that the caller read. If it is not the current one, nothing is deleted. */
                version?: number;
            };
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    mailQuotaChanges: {
        parameters: {
            query?: {
                /** @description Number of the page, from 1. */
                page?: number;
                /** @description Number of rows on the page. */
                page_size?: number;
            };
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MailChangePage"];
                };
            };
        };
    };
    mailQuotaReset: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Reset"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MailQuota"];
                };
            };
        };
    };
    mailQuotaRestore: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MailQuota"];
                };
            };
        };
    };
    viewShow: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OwnerView"];
                };
            };
        };
    };
    webhookList: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Webhooks"];
                };
            };
        };
    };
    webhookEnable: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Its name in WEBHOOKS_FILE. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Webhook"];
                };
            };
        };
    };
    webhookReplay: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Its name in WEBHOOKS_FILE. */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Replay"];
            };
        };
        responses: {
            /** @description Done. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Replayed"];
                };
            };
        };
    };
    webhookTest: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Its name in WEBHOOKS_FILE. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tested"];
                };
            };
        };
    };
}
