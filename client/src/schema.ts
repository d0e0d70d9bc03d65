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
        /** Make a quota */
        post: operations["smsQuotaCreate"];
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
        /** Make a change set of the quotas that a filter finds */
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
        /** Undo a change set */
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
        /** List a change set's rows, in order */
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
        /** Hand out a change set's rows as CSV */
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
        /** List what happened to quotas, oldest first */
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
        /** List the quotas that end soon, soonest first */
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
        /** Hand out a list of quotas as CSV, newest first */
        get: operations["smsChangeSetExport"];
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
        /** Make a change set of the records of a CSV file */
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
        /** List everybody who ever had a quota */
        get: operations["smsOfficeOwners"];
        put?: never;
        post?: never;
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
        /** Say how often a user was refused, hour by hour, newest first */
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
        /** Say who was refused most */
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
        /** Delete a quota softly */
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
        /** Begin a new count: used and reserved 0, the next reset as it was */
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
        /** Undo a delete */
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
        /** Ask whether an amount would fit */
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
        /** Hold units for a while */
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
        /** Say what was used, hour by hour or day by day, oldest first */
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
        /** List what was done with an operation, oldest first */
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
        /** Spend what a hold keeps */
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
        /** Return what was charged */
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
        /** Whose token this is */
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
        /** Make a quota */
        post: operations["mailQuotaCreate"];
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
        /** Make a change set of the quotas that a filter finds */
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
        /** Undo a change set */
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
        /** List a change set's rows, in order */
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
        /** Hand out a change set's rows as CSV */
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
        /** List what happened to quotas, oldest first */
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
        /** List the quotas that end soon, soonest first */
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
        /** Hand out a list of quotas as CSV, newest first */
        get: operations["mailChangeSetExport"];
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
        /** Make a change set of the records of a CSV file */
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
        /** List everybody who ever had a quota */
        get: operations["mailOfficeOwners"];
        put?: never;
        post?: never;
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
        /** Say how often an account was refused, hour by hour, newest first */
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
        /** Say who was refused most */
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
        /** Ask whether an amount would fit */
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
        /** Hold units for a while */
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
        /** Say what was used, hour by hour or day by day, oldest first */
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
        /** List what was done with an operation, oldest first */
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
        /** Spend what a hold keeps */
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
        /** Return what was charged */
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
        /** Delete a quota softly */
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
        /** Begin a new count: used and reserved 0, the next reset as it was */
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
        /** Undo a delete */
        post: operations["mailQuotaRestore"];
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
        /** End a disablement */
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
        /** Send a test message, once and now */
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
             * @description What was done.
             * @example reserve
             * @enum {string}
             */
            kind: "consume" | "reserve" | "commit" | "release" | "refund";
            /**
             * @description The name of the principal who did it.
             * @example mailer
             */
            actor: string;
            /**
             * Format: int64
             * @description Units spent, held, charged, or returned.
             * @example 5
             */
            amount: number;
            /**
             * @description The key it was sent with; null for commit and release.
             * @example msg-8841
             */
            idempotency_key: string | null;
            /**
             * @description The X-Request-Id of the request that did it.
             * @example 01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d
             */
            request_id: string;
            /**
             * Format: date-time
             * @description When it was done.
             * @example 2026-12-01T00:00:00.000Z
             */
            at: string;
        };
        Acts: {
            /** @description The acts, oldest first. */
            items: components["schemas"]["Act"][];
        };
        Allocation: {
            /**
             * Format: int64
             * @description The quota.
             * @example 12
             */
            quota_id: number;
            /**
             * Format: int64
             * @description Units drawn from it; what returned later is not taken off here.
             * @example 5
             */
            amount: number;
        };
        Apply: {
            /**
             * Format: int64
             * @description The version of the change set that the caller saw.
             * @example 2
             */
            version: number;
            /**
             * Format: int64
             * @description How many `planned` rows the caller saw.
             * @example 40
             */
            rows: number;
        };
        BatchRefused: {
            /**
             * @description The status that the item would have had as a request of its own.
             * @example 400
             * @enum {integer}
             */
            status: 400 | 409 | 422 | 500 | 503;
            /** @description Why. */
            problem: components["schemas"]["ValidationFailedProblem"] | components["schemas"]["QuotaExceededProblem"] | components["schemas"]["NoActiveQuotaProblem"] | components["schemas"]["IdempotencyKeyReusedProblem"] | components["schemas"]["InternalErrorProblem"] | components["schemas"]["UnavailableProblem"];
        };
        Cap: {
            /**
             * Format: int64
             * @description Id of the cap.
             * @example 9
             */
            id: number;
            /**
             * @description `enforce`: refuses requests that exceed it. `observe`: only reports them.
             * @example enforce
             * @enum {string}
             */
            cap: "enforce" | "observe";
            /**
             * @description 1: `total` units until `expire_at`. 2: `total` units per cycle. 3: `total` units in any window.
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
        ChangeSet: {
            /**
             * Format: int64
             * @description Rises with time.
             * @example 5
             */
            id: number;
            /**
             * @description Where it is in its life.
             * @example ready
             * @enum {string}
             */
            state: "preparing" | "ready" | "applying" | "applied" | "reverting" | "reverted" | "failed";
            /**
             * @description What its rows were made from.
             * @example filter
             * @enum {string}
             */
            source: "filter" | "import";
            /**
             * @description The filter as it was sent; null of an import.
             * @example {
             *       "label": "Spring"
             *     }
             */
            filter: {
                [key: string]: unknown;
            } | null;
            /**
             * @description The change as it was sent; null of an import.
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
             * @description The name of the principal who made it.
             * @example back-office
             */
            actor: string;
            /**
             * Format: int64
             * @description Begins at 1 and counts the states.
             * @example 2
             */
            version: number;
            /**
             * Format: date-time
             * @description When it was made.
             * @example 2026-12-01T00:00:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When all of it was applied; null before.
             * @example null
             */
            applied_at: string | null;
            /**
             * Format: date-time
             * @description When it was reverted; null before.
             * @example null
             */
            reverted_at: string | null;
            /** @description How many rows there are; they move while it is applied and reverted. */
            counts: components["schemas"]["Counts"];
            /** @description Why it has failed; absent else. */
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
             * @description Hand it in as `before` for the next page; null at the end.
             * @example 5
             */
            next_before: number | null;
        };
        ChangedSettings: {
            /**
             * Format: int64
             * @description The allowance.
             * @example 1000
             */
            total?: number;
            /**
             * @description The administrator's switch.
             * @example active
             * @enum {string}
             */
            status?: "active" | "disabled";
            /**
             * Format: date-time
             * @description The end.
             * @example 2026-12-01T00:00:00.000Z
             */
            expire_at?: string | null;
            /**
             * @description The length of a cycle.
             * @example month
             * @enum {string|null}
             */
            cycle_unit?: "hour" | "day" | "week" | "month" | "year" | null;
            /**
             * Format: date-time
             * @description The next reset.
             * @example 2026-12-01T00:00:00.000Z
             */
            cycle_reset_at?: string | null;
            /**
             * @description The zone of the calendar.
             * @example UTC
             */
            cycle_time_zone?: string | null;
            /**
             * @description The name.
             * @example Spring campaign
             */
            label?: string | null;
            /**
             * @description The kind of cap; null where it pays.
             * @example null
             * @enum {string|null}
             */
            cap?: "enforce" | "observe" | null;
            /**
             * @description The window, in seconds.
             * @example null
             */
            window_seconds?: number | null;
            /**
             * @description The thresholds, ascending.
             * @example [
             *       50,
             *       80
             *     ]
             */
            thresholds?: number[] | null;
            /**
             * Format: date-time
             * @description When the quota was deleted; null where it is not.
             * @example 2026-12-01T00:00:00.000Z
             */
            deleted_at?: string | null;
            /**
             * Format: int64
             * @description Units spent, at a reset and at a changed window.
             * @example 20
             */
            used?: number;
            /**
             * Format: int64
             * @description Units held, at a reset and at a changed window.
             * @example 5
             */
            reserved?: number;
        };
        Check: {
            /**
             * @description Whether the owner's active quotas could pay it together, and its caps let it pass, at this moment.
             * @example true
             */
            allowed: boolean;
            /**
             * Format: int64
             * @description Units asked about.
             * @example 5
             */
            requested: number;
            /**
             * Format: int64
             * @description What one consume could take: `payable`, bounded by what remains of each enforce cap; 0 without an active payer.
             * @example 975
             */
            remaining: number;
            /**
             * Format: int64
             * @description What the quotas that pay could pay together.
             * @example 975
             */
            payable: number;
            /**
             * Format: date-time
             * @description The earliest instant from which payers and caps would let it pass if nobody else took anything; null where allowed or where there is none.
             * @example null
             */
            refills_at: string | null;
            /**
             * @description The enforce caps that cannot take it, ids ascending; none where it is allowed.
             * @example []
             */
            caps: components["schemas"]["Cap"][];
        };
        Commit: {
            /**
             * Format: int64
             * @description Units to spend of those held; absent: all. The rest returns.
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
             * @description The sum of the others, unless it is being prepared.
             * @example 40
             */
            rows: number;
            /**
             * Format: int64
             * @description To be done.
             * @example 38
             */
            planned: number;
            /**
             * Format: int64
             * @description Nothing would differ.
             * @example 1
             */
            unchanged: number;
            /**
             * Format: int64
             * @description What is asked for is not allowed.
             * @example 1
             */
            invalid: number;
            /**
             * Format: int64
             * @description Done.
             * @example 0
             */
            applied: number;
            /**
             * Format: int64
             * @description Somebody else changed or deleted the quota.
             * @example 0
             */
            conflict: number;
            /**
             * Format: int64
             * @description Taken back.
             * @example 0
             */
            reverted: number;
            /**
             * Format: int64
             * @description Not taken back: it cannot be, or was changed since.
             * @example 0
             */
            kept: number;
        };
        CreateMailQuota: {
            /**
             * @description 1: total units until `expire_at`. 2: total units per cycle. 3: total units in any `window_seconds`, for caps alone.
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
             * Format: date-time
             * @description From this instant on the quota is over; in the future. Required for type 1; for types 2 and 3 absent or null means never.
             * @example null
             */
            expire_at?: string | null;
            /**
             * @description How long a cycle lasts; type 2 alone, required there. An hour is elapsed time, the others follow the calendar in the quota's zone.
             * @example month
             * @enum {string|null}
             */
            cycle_unit?: "hour" | "day" | "week" | "month" | "year" | null;
            /**
             * Format: date-time
             * @description The first reset, in the future, and the anchor that all later ones are counted from; type 2 alone, required there.
             * @example 2099-12-01T00:00:00.000Z
             */
            cycle_reset_at?: string | null;
            /**
             * @description The IANA zone whose calendar the cycle follows; type 2 alone, `UTC` where absent.
             * @example UTC
             */
            cycle_time_zone?: string | null;
            /**
             * @description What people call it, of every type; kept as given. Absent or null: nothing.
             * @example Spring campaign
             */
            label?: string | null;
            /**
             * @description A cap never pays: it bounds what the owner takes, or with `observe` tells what it would have refused. Absent or null: the quota pays.
             * @example null
             * @enum {string|null}
             */
            cap?: "enforce" | "observe" | null;
            /**
             * @description How long the window of a rolling cap is, in seconds; type 3 alone, required there.
             * @example 86400
             */
            window_seconds?: number | null;
            /**
             * @description Per cent of `total` that are told of as events when `used` reaches them; types 1 and 2, none where absent. Null for type 3 alone, which has none.
             * @example [
             *       50,
             *       80
             *     ]
             */
            thresholds?: number[] | null;
            /**
             * Format: int64
             * @description The mail account that the quota limits.
             * @example 7
             */
            account_id: number;
            /**
             * Format: int64
             * @description The user who owns the account.
             * @example 3
             */
            user_id?: number | null;
        };
        CreateSmsQuota: {
            /**
             * @description 1: total units until `expire_at`. 2: total units per cycle. 3: total units in any `window_seconds`, for caps alone.
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
             * Format: date-time
             * @description From this instant on the quota is over; in the future. Required for type 1; for types 2 and 3 absent or null means never.
             * @example null
             */
            expire_at?: string | null;
            /**
             * @description How long a cycle lasts; type 2 alone, required there. An hour is elapsed time, the others follow the calendar in the quota's zone.
             * @example month
             * @enum {string|null}
             */
            cycle_unit?: "hour" | "day" | "week" | "month" | "year" | null;
            /**
             * Format: date-time
             * @description The first reset, in the future, and the anchor that all later ones are counted from; type 2 alone, required there.
             * @example 2099-12-01T00:00:00.000Z
             */
            cycle_reset_at?: string | null;
            /**
             * @description The IANA zone whose calendar the cycle follows; type 2 alone, `UTC` where absent.
             * @example UTC
             */
            cycle_time_zone?: string | null;
            /**
             * @description What people call it, of every type; kept as given. Absent or null: nothing.
             * @example Spring campaign
             */
            label?: string | null;
            /**
             * @description A cap never pays: it bounds what the owner takes, or with `observe` tells what it would have refused. Absent or null: the quota pays.
             * @example null
             * @enum {string|null}
             */
            cap?: "enforce" | "observe" | null;
            /**
             * @description How long the window of a rolling cap is, in seconds; type 3 alone, required there.
             * @example 86400
             */
            window_seconds?: number | null;
            /**
             * @description Per cent of `total` that are told of as events when `used` reaches them; types 1 and 2, none where absent. Null for type 3 alone, which has none.
             * @example [
             *       50,
             *       80
             *     ]
             */
            thresholds?: number[] | null;
            /**
             * Format: int64
             * @description The user whom the quota limits.
             * @example 7
             */
            user_id: number;
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
             * @description The name of the principal who spent or held.
             * @example mailer
             */
            actor: string;
            /**
             * @description The key that it was sent with.
             * @example msg-8841
             */
            idempotency_key: string | null;
        };
        MailBatch: {
            /** @description 1 … 1000 consumes, decided in order. */
            items: components["schemas"]["MailBatchItem"][];
        };
        MailBatchAnswer: {
            /** @description The results. */
            results: (components["schemas"]["MailBatchDone"] | components["schemas"]["BatchRefused"])[];
        };
        MailBatchDone: {
            /**
             * @description The status that the item would have had as a request of its own.
             * @example 200
             * @enum {integer}
             */
            status: 200;
            /**
             * @description Whether this repeats an earlier answer.
             * @example false
             */
            replayed: boolean;
            /** @description What it made. */
            operation: components["schemas"]["MailOperation"];
        };
        MailBatchItem: {
            /**
             * Format: int64
             * @description Units to spend; all of them or none.
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
             * @description Who spends.
             * @example 7
             */
            account_id: number;
        };
        MailChange: {
            /**
             * Format: int64
             * @description Rises with time.
             * @example 31
             */
            id: number;
            /**
             * Format: int64
             * @description The quota that was changed.
             * @example 12
             */
            quota_id: number;
            /**
             * @description What was done.
             * @example update
             * @enum {string}
             */
            action: "create" | "update" | "delete" | "restore" | "reset";
            /**
             * @description The name of the principal who did it.
             * @example back-office
             */
            actor: string;
            /**
             * @description The X-Request-Id of the request that did it.
             * @example 01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d
             */
            request_id: string;
            /**
             * Format: date-time
             * @description When it was done.
             * @example 2026-12-01T00:00:00.000Z
             */
            at: string;
            /** @description What changed, as it was; empty for a create. */
            before: components["schemas"]["ChangedSettings"];
            /** @description The same, as it became. */
            after: components["schemas"]["ChangedSettings"];
            /**
             * Format: int64
             * @description The change set that it was part of; absent where this quota was changed alone.
             * @example 5
             */
            change_set_id?: number;
            /**
             * Format: int64
             * @description Whose quota it is.
             * @example 7
             */
            account_id: number;
        };
        MailChangeEvent: {
            /**
             * Format: uuid
             * @description Tells it apart from every other one; a UUIDv7.
             * @example 01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d
             */
            id: string;
            /**
             * Format: date-time
             * @description When it happened.
             * @example 2026-12-01T00:00:00.000Z
             */
            at: string;
            /**
             * Format: int64
             * @description The quota.
             * @example 12
             */
            quota_id: number;
            /**
             * @description What happened.
             * @example quota.created
             * @enum {string}
             */
            type: "quota.created" | "quota.updated" | "quota.deleted" | "quota.restored" | "quota.reset";
            /**
             * Format: int64
             * @description Whose quota it is.
             * @example 7
             */
            account_id: number;
            /** @description The change. */
            data: components["schemas"]["MailChange"];
        };
        MailChangeFilter: {
            /**
             * @description Only those that are so at this instant.
             * @example active
             * @enum {string}
             */
            status?: "active" | "disabled" | "expired";
            /**
             * @description Only caps of that kind, or with `none` only quotas that pay.
             * @example enforce
             * @enum {string}
             */
            cap?: "enforce" | "observe" | "none";
            /**
             * @description Only those whose label begins so, whatever the case; accents count, and nothing is a wildcard.
             * @example Spring
             */
            label?: string;
            /**
             * Format: int64
             * @description Only this account's.
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
             * @description All of them; alone.
             * @example true
             * @enum {boolean}
             */
            all?: true;
        };
        MailChangePage: {
            /**
             * Format: int64
             * @description The page shown, from 1.
             * @example 1
             */
            page: number;
            /**
             * @description The size asked for, 1 … 100.
             * @example 20
             */
            page_size: number;
            /**
             * Format: int64
             * @description How long the whole list is.
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
             * @description From 1: by quota, or in the order of the file.
             * @example 1
             */
            row: number;
            /**
             * Format: int64
             * @description The line of the file on which the record begins; null without a file.
             * @example null
             */
            line: number | null;
            /**
             * Format: int64
             * @description The quota; null of one that is yet to be made, and where the record names none.
             * @example 12
             */
            quota_id: number | null;
            /**
             * @description What is done.
             * @example update
             * @enum {string}
             */
            action: "create" | "update" | "delete" | "reset";
            /**
             * @description What became of it.
             * @example planned
             * @enum {string}
             */
            outcome: "planned" | "unchanged" | "invalid" | "applied" | "conflict" | "reverted" | "kept";
            /** @description What changes, as it was; empty where nothing does. */
            before: components["schemas"]["ChangedSettings"];
            /** @description The same, as it becomes. */
            after: components["schemas"]["ChangedSettings"];
            /** @description Why it was not done; null where it is to be, or was. */
            problem: components["schemas"]["RowProblem"] | null;
            /**
             * Format: int64
             * @description Whose quota it is; null where the record names nobody.
             * @example 7
             */
            account_id: number | null;
        };
        MailChangeSetRowsPage: {
            /**
             * Format: int64
             * @description Hand it in as `after` for the next page; null at the end.
             * @example 100
             */
            next_after: number | null;
            /** @description The rows. */
            items: components["schemas"]["MailChangeSetRow"][];
        };
        MailChangesPage: {
            /**
             * Format: int64
             * @description Hand it in as `before` for the next page; null at the end.
             * @example 31
             */
            next_before: number | null;
            /** @description The changes. */
            items: components["schemas"]["MailChange"][];
        };
        MailConsume: {
            /**
             * Format: int64
             * @description Units to spend; all of them or none.
             * @example 5
             */
            amount: number;
            /**
             * Format: int64
             * @description Who spends.
             * @example 7
             */
            account_id: number;
        };
        MailEventsPage: {
            /**
             * @description Hand it in as `after` to go on, at once or later; never null. An empty page is the end for now.
             * @example e1841
             */
            next_after: string;
            /** @description The events. */
            items: (components["schemas"]["MailThresholdEvent"] | components["schemas"]["MailChangeEvent"])[];
        };
        MailExpiringPage: {
            /**
             * @description Hand it in as `cursor` for the next page; null at the end.
             * @example 1798761600000.12
             */
            next_cursor: string | null;
            /** @description The quotas. */
            items: components["schemas"]["MailQuota"][];
        };
        MailLedgerPage: {
            /**
             * Format: uuid
             * @description Hand it in as `before` for the next page; null at the end. To a token of the scope `own` a page with few or no operations may name a next one.
             * @example 01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d
             */
            next_before: string | null;
            /**
             * Format: date-time
             * @description From this instant on the ledger is whole, what was settled before is no longer kept; absent where everything is.
             * @example 2026-12-01T00:00:00.000Z
             */
            begins_at?: string;
            /** @description The operations. */
            items: components["schemas"]["MailListedOperation"][];
        };
        MailListedOperation: {
            /**
             * Format: uuid
             * @description UUIDv7; rises with time.
             * @example 01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d
             */
            id: string;
            /**
             * @description How it began.
             * @example consume
             * @enum {string}
             */
            kind: "consume" | "reserve";
            /**
             * @description What has become of it.
             * @example consumed
             * @enum {string}
             */
            state: "consumed" | "reserved" | "committed" | "released" | "expired";
            /**
             * Format: int64
             * @description Units asked for.
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
             * @description Units of `charged` that came back.
             * @example 0
             */
            refunded: number;
            /** @description Which quotas paid, as drawn, in draw-down order. */
            allocations: components["schemas"]["Allocation"][];
            /**
             * @description The caps that counted it, with its whole amount, ids ascending; absent where there were none.
             * @example [
             *       9,
             *       10
             *     ]
             */
            caps?: number[];
            /**
             * @description The observe caps among them that would have refused it; in the first answer and its replays alone, absent where there were none.
             * @example [
             *       10
             *     ]
             */
            would_refuse?: number[];
            /**
             * Format: int64
             * @description What the owner could take in one consume right after the operation's last act.
             * @example 970
             */
            owner_remaining: number;
            /**
             * Format: date-time
             * @description When the hold ends by itself; null for a consume.
             * @example null
             */
            expires_at: string | null;
            /**
             * Format: date-time
             * @description When it was made.
             * @example 2026-12-01T00:00:00.000Z
             */
            created_at: string;
            /**
             * Format: int64
             * @description Who spends.
             * @example 7
             */
            account_id: number;
            /** @description Who made it, and with which key; there with `made_by=true` alone. */
            made_by?: components["schemas"]["MadeBy"];
        };
        MailListedQuota: {
            /**
             * Format: int64
             * @description The quota's identifier.
             * @example 12
             */
            id: number;
            /**
             * @description 1: total units until `expire_at`. 2: total units per cycle. 3: total units in any `window_seconds`, a cap.
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
             * @description Units spent, of a cycle quota in the running cycle, of a rolling cap in its window. Those of an observe cap may pass `total`.
             * @example 20
             */
            used: number;
            /**
             * Format: int64
             * @description Units held by open reservations.
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
             * @description Derived at the moment of reading: `disabled` by an administrator, else `expired` once `expire_at` has come, else `active`.
             * @example active
             * @enum {string}
             */
            status: "active" | "disabled" | "expired";
            /**
             * Format: date-time
             * @description From this instant on the quota is over; null: never.
             * @example null
             */
            expire_at: string | null;
            /**
             * @description How long a cycle lasts; null for types 1 and 3.
             * @example month
             * @enum {string|null}
             */
            cycle_unit: "hour" | "day" | "week" | "month" | "year" | null;
            /**
             * Format: date-time
             * @description The next reset by the calendar, even where `expire_at` comes first; null for types 1 and 3.
             * @example 2026-12-01T00:00:00.000Z
             */
            cycle_reset_at: string | null;
            /**
             * Format: date-time
             * @description Reset number 0, which all others are counted from; null for types 1 and 3.
             * @example 2026-12-01T00:00:00.000Z
             */
            cycle_anchor_at: string | null;
            /**
             * @description The IANA zone whose calendar the cycle follows, as given; null for types 1 and 3.
             * @example UTC
             */
            cycle_time_zone: string | null;
            /**
             * @description What people call it, as given; null where nobody named it.
             * @example Spring campaign
             */
            label: string | null;
            /**
             * @description Null: the quota pays. Else it is a cap: it bounds what the owner takes (`enforce`), or tells what it would have refused (`observe`).
             * @example null
             * @enum {string|null}
             */
            cap: "enforce" | "observe" | null;
            /**
             * @description The window of a rolling cap, in seconds; null for types 1 and 2.
             * @example null
             */
            window_seconds: number | null;
            /**
             * @description Per cent of `total` that are told of as events, ascending; null for type 3.
             * @example [
             *       50,
             *       80
             *     ]
             */
            thresholds: number[] | null;
            /**
             * Format: int64
             * @description Starts at 1 and counts edits of the settings, not usage.
             * @example 3
             */
            version: number;
            /**
             * Format: date-time
             * @description When the quota was made.
             * @example 2026-12-01T00:00:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it was edited, deleted, restored or reset last; usage leaves it alone.
             * @example 2026-12-01T00:00:00.000Z
             */
            updated_at: string;
            /**
             * Format: int64
             * @description The mail account that the quota limits.
             * @example 7
             */
            account_id: number;
            /**
             * Format: int64
             * @description The user who owns the account; null where the create named none.
             * @example 3
             */
            user_id: number | null;
            /**
             * Format: date-time
             * @description When it was deleted; there with `deleted=true` alone.
             * @example 2026-12-01T00:00:00.000Z
             */
            deleted_at?: string;
        };
        MailOperation: {
            /**
             * Format: uuid
             * @description UUIDv7; rises with time.
             * @example 01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d
             */
            id: string;
            /**
             * @description How it began.
             * @example consume
             * @enum {string}
             */
            kind: "consume" | "reserve";
            /**
             * @description What has become of it.
             * @example consumed
             * @enum {string}
             */
            state: "consumed" | "reserved" | "committed" | "released" | "expired";
            /**
             * Format: int64
             * @description Units asked for.
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
             * @description Units of `charged` that came back.
             * @example 0
             */
            refunded: number;
            /** @description Which quotas paid, as drawn, in draw-down order. */
            allocations: components["schemas"]["Allocation"][];
            /**
             * @description The caps that counted it, with its whole amount, ids ascending; absent where there were none.
             * @example [
             *       9,
             *       10
             *     ]
             */
            caps?: number[];
            /**
             * @description The observe caps among them that would have refused it; in the first answer and its replays alone, absent where there were none.
             * @example [
             *       10
             *     ]
             */
            would_refuse?: number[];
            /**
             * Format: int64
             * @description What the owner could take in one consume right after the operation's last act.
             * @example 970
             */
            owner_remaining: number;
            /**
             * Format: date-time
             * @description When the hold ends by itself; null for a consume.
             * @example null
             */
            expires_at: string | null;
            /**
             * Format: date-time
             * @description When it was made.
             * @example 2026-12-01T00:00:00.000Z
             */
            created_at: string;
            /**
             * Format: int64
             * @description Who spends.
             * @example 7
             */
            account_id: number;
        };
        MailOwner: {
            /**
             * Format: int64
             * @description The sum of the active quotas' totals.
             * @example 1500
             */
            total: number;
            /**
             * Format: int64
             * @description The sum of what they have spent.
             * @example 20
             */
            used: number;
            /**
             * Format: int64
             * @description The sum of what their open reservations hold.
             * @example 5
             */
            reserved: number;
            /**
             * Format: int64
             * @description The sum of the quotas' own remaining; after a lowered total it may exceed total - used - reserved.
             * @example 1475
             */
            remaining: number;
            /**
             * @description How many quotas are active that pay.
             * @example 2
             */
            quota_count: number;
            /**
             * Format: int64
             * @description What one consume could take now: `remaining`, bounded by what remains of each enforce cap; 0 without an active payer.
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
        MailOwnersPage: {
            /**
             * Format: int64
             * @description Hand it in as `after` for the next page; null at the end.
             * @example 7
             */
            next_after: number | null;
            /** @description Each with what its active quotas add up to. */
            items: components["schemas"]["MailOwner"][];
        };
        MailQuota: {
            /**
             * Format: int64
             * @description The quota's identifier.
             * @example 12
             */
            id: number;
            /**
             * @description 1: total units until `expire_at`. 2: total units per cycle. 3: total units in any `window_seconds`, a cap.
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
             * @description Units spent, of a cycle quota in the running cycle, of a rolling cap in its window. Those of an observe cap may pass `total`.
             * @example 20
             */
            used: number;
            /**
             * Format: int64
             * @description Units held by open reservations.
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
             * @description Derived at the moment of reading: `disabled` by an administrator, else `expired` once `expire_at` has come, else `active`.
             * @example active
             * @enum {string}
             */
            status: "active" | "disabled" | "expired";
            /**
             * Format: date-time
             * @description From this instant on the quota is over; null: never.
             * @example null
             */
            expire_at: string | null;
            /**
             * @description How long a cycle lasts; null for types 1 and 3.
             * @example month
             * @enum {string|null}
             */
            cycle_unit: "hour" | "day" | "week" | "month" | "year" | null;
            /**
             * Format: date-time
             * @description The next reset by the calendar, even where `expire_at` comes first; null for types 1 and 3.
             * @example 2026-12-01T00:00:00.000Z
             */
            cycle_reset_at: string | null;
            /**
             * Format: date-time
             * @description Reset number 0, which all others are counted from; null for types 1 and 3.
             * @example 2026-12-01T00:00:00.000Z
             */
            cycle_anchor_at: string | null;
            /**
             * @description The IANA zone whose calendar the cycle follows, as given; null for types 1 and 3.
             * @example UTC
             */
            cycle_time_zone: string | null;
            /**
             * @description What people call it, as given; null where nobody named it.
             * @example Spring campaign
             */
            label: string | null;
            /**
             * @description Null: the quota pays. Else it is a cap: it bounds what the owner takes (`enforce`), or tells what it would have refused (`observe`).
             * @example null
             * @enum {string|null}
             */
            cap: "enforce" | "observe" | null;
            /**
             * @description The window of a rolling cap, in seconds; null for types 1 and 2.
             * @example null
             */
            window_seconds: number | null;
            /**
             * @description Per cent of `total` that are told of as events, ascending; null for type 3.
             * @example [
             *       50,
             *       80
             *     ]
             */
            thresholds: number[] | null;
            /**
             * Format: int64
             * @description Starts at 1 and counts edits of the settings, not usage.
             * @example 3
             */
            version: number;
            /**
             * Format: date-time
             * @description When the quota was made.
             * @example 2026-12-01T00:00:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it was edited, deleted, restored or reset last; usage leaves it alone.
             * @example 2026-12-01T00:00:00.000Z
             */
            updated_at: string;
            /**
             * Format: int64
             * @description The mail account that the quota limits.
             * @example 7
             */
            account_id: number;
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
             * @description The page shown, from 1.
             * @example 1
             */
            page: number;
            /**
             * @description The size asked for, 1 … 100.
             * @example 20
             */
            page_size: number;
            /**
             * Format: int64
             * @description How long the whole list is.
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
             * @description Units to hold; all of them or none.
             * @example 5
             */
            amount: number;
            /**
             * @description How long the hold lasts unless it is settled before, in seconds.
             * @default 600
             * @example 600
             */
            ttl_seconds?: number;
            /**
             * Format: int64
             * @description For whom they are held.
             * @example 7
             */
            account_id: number;
        };
        MailSummary: {
            /**
             * Format: int64
             * @description The sum of the active quotas' totals.
             * @example 1500
             */
            total: number;
            /**
             * Format: int64
             * @description The sum of what they have spent.
             * @example 20
             */
            used: number;
            /**
             * Format: int64
             * @description The sum of what their open reservations hold.
             * @example 5
             */
            reserved: number;
            /**
             * Format: int64
             * @description The sum of the quotas' own remaining; after a lowered total it may exceed total - used - reserved.
             * @example 1475
             */
            remaining: number;
            /**
             * @description How many quotas are active that pay.
             * @example 2
             */
            quota_count: number;
            /**
             * Format: int64
             * @description What one consume could take now: `remaining`, bounded by what remains of each enforce cap; 0 without an active payer.
             * @example 1475
             */
            available: number;
            /**
             * @description The active caps, ids ascending.
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
             * @description Tells it apart from every other one; a UUIDv7.
             * @example 01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d
             */
            id: string;
            /**
             * Format: date-time
             * @description When it happened.
             * @example 2026-12-01T00:00:00.000Z
             */
            at: string;
            /**
             * Format: int64
             * @description The quota.
             * @example 12
             */
            quota_id: number;
            /**
             * @description What happened.
             * @example quota.threshold_reached
             * @enum {string}
             */
            type: "quota.threshold_reached";
            /** @description Which, and how far it has come. */
            data: components["schemas"]["PassedThresholds"];
            /**
             * Format: int64
             * @description Whose quota it is.
             * @example 7
             */
            account_id: number;
        };
        MailTopRefusal: {
            /**
             * @description Why. `quota_observed`: what was taken although an observe cap would have refused it.
             * @example quota_exceeded
             * @enum {string}
             */
            code: "quota_exceeded" | "no_active_quota" | "quota_observed";
            /**
             * Format: int64
             * @description Attempts, repeated ones too.
             * @example 41
             */
            count: number;
            /**
             * Format: int64
             * @description The sum of what they asked for.
             * @example 120
             */
            requested: number;
            /**
             * Format: date-time
             * @description The last one.
             * @example 2026-12-01T00:00:00.000Z
             */
            last_at: string;
            /**
             * Format: int64
             * @description Who was refused.
             * @example 7
             */
            account_id: number;
        };
        MailTopRefusals: {
            /** @description One for each account and reason. */
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
            /** @description Changes settings. */
            update?: components["schemas"]["ManySettings"];
            /**
             * @description Deletes softly.
             * @example true
             * @enum {boolean}
             */
            delete?: true;
            /**
             * @description Begins a new count.
             * @example true
             * @enum {boolean}
             */
            reset?: true;
        };
        ManySettings: {
            /**
             * @description `active` or `disabled`; `expired` only as the echo of a record that is.
             * @example active
             * @enum {string}
             */
            status?: "active" | "disabled" | "expired";
            /**
             * Format: date-time
             * @description May lie in the past: the quota is over at once. Null: never ends (types 2 and 3).
             * @example null
             */
            expire_at?: string | null;
            /**
             * @description Type 2. A change keeps the next reset and steps by the new unit from there.
             * @example month
             * @enum {string|null}
             */
            cycle_unit?: "hour" | "day" | "week" | "month" | "year" | null;
            /**
             * Format: date-time
             * @description Type 2. Where it changes it lies in the future, is the new anchor, and ends the running cycle then.
             * @example 2099-12-01T00:00:00.000Z
             */
            cycle_reset_at?: string | null;
            /**
             * @description Type 2. A change keeps the next reset and follows the new zone from there.
             * @example UTC
             */
            cycle_time_zone?: string | null;
            /**
             * @description What people call it; null takes the name away.
             * @example Spring campaign
             */
            label?: string | null;
            /**
             * @description Of a cap: `enforce` or `observe`. Null only as the echo of a quota that pays.
             * @example null
             * @enum {string|null}
             */
            cap?: "enforce" | "observe" | null;
            /**
             * @description Type 3. A change begins a new count.
             * @example 86400
             */
            window_seconds?: number | null;
            /**
             * @description Types 1 and 2: all of them, `[]` for none. Null only as the echo of type 3.
             * @example [
             *       50,
             *       80
             *     ]
             */
            thresholds?: number[] | null;
            /**
             * @description The allowance: a number, so many units more (`add`), or so many per cent more (`percent`, rounded half up).
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
             * @description What a change calls its actor: the token's name, or `oidc:` and the name that the identity provider tells.
             * @example boss
             */
            name: string;
            /**
             * @description What it may do.
             * @example admin
             * @enum {string}
             */
            role: "usage" | "service" | "admin" | "metrics";
            /**
             * @description What narrows the role: to a channel, to operations that this name made, or to both. Where nothing does it is empty if an identity provider is
             *     configured, else absent.
             * @example [
             *       "mail",
             *       "own"
             *     ]
             */
            scopes?: ("mail" | "sms" | "own")[];
            /**
             * Format: date-time
             * @description When the token ends; null where it has no end. There where an identity provider is configured, as is `source`.
             * @example null
             */
            expires_at?: string | null;
            /**
             * @description Where the token comes from: the service's own list, or the identity provider.
             * @example token
             * @enum {string}
             */
            source?: "token" | "oidc";
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
            /** @description What is done. */
            change: components["schemas"]["ManyChange"];
            /** @description Which ones; looked for once, when the change set is prepared. */
            filter: components["schemas"]["MailChangeFilter"];
        };
        NewSmsChangeSet: {
            /** @description What is done. */
            change: components["schemas"]["ManyChange"];
            /** @description Which ones; looked for once, when the change set is prepared. */
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
        PassedThresholds: {
            /**
             * @description The highest of them, in per cent of `total`.
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
             * @description Its next reset; null for type 1.
             * @example 2026-12-01T00:00:00.000Z
             */
            cycle_reset_at: string | null;
            /**
             * @description What people call it.
             * @example Newsletter
             */
            label: string | null;
            /**
             * Format: uuid
             * @description The consume or reservation that passed them; null where an edit did.
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
             * @description The earliest time at which quotas and caps admit the request if no other request takes units until then; null if there is none.
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
             * @description Always `ready`; a service that is not answers 503.
             * @example ready
             * @enum {string}
             */
            status: "ready";
        };
        Refund: {
            /**
             * Format: int64
             * @description Units to return of those charged; absent: all that is left to refund.
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
             * @description Why.
             * @example quota_exceeded
             * @enum {string}
             */
            code: "quota_exceeded" | "no_active_quota" | "quota_observed";
            /**
             * Format: int64
             * @description Attempts, repeated ones too.
             * @example 41
             */
            count: number;
            /**
             * Format: int64
             * @description The sum of what they asked for.
             * @example 120
             */
            requested: number;
            /**
             * Format: date-time
             * @description The last one.
             * @example 2026-12-01T00:00:00.000Z
             */
            last_at: string;
            /**
             * Format: int64
             * @description The smallest amount asked for; there with `amounts=true` alone, as the two below, and null where amounts were not kept yet.
             * @example 1
             */
            smallest?: number | null;
            /**
             * Format: int64
             * @description The largest amount asked for.
             * @example 20
             */
            largest?: number | null;
            /**
             * Format: int64
             * @description The amount asked for at `last_at`.
             * @example 5
             */
            last?: number | null;
        };
        Refusals: {
            /** @description The counts. */
            items: components["schemas"]["Refusal"][];
        };
        RefusingQuota: {
            /**
             * Format: int64
             * @description Id of the quota.
             * @example 12
             */
            id: number;
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
             * @description From this instant on.
             * @example 2026-11-01T00:00:00.000Z
             */
            from: string;
            /**
             * Format: date-time
             * @description Before this instant; absent: all later ones.
             * @example 2099-12-01T00:00:00.000Z
             */
            to?: string;
        };
        Replayed: {
            /**
             * Format: int64
             * @description How many.
             * @example 41
             */
            events: number;
        };
        Reset: {
            /**
             * Format: int64
             * @description The version the caller read; where it is no longer the current one, nothing is reset.
             * @example 3
             */
            version?: number;
        };
        Revert: {
            /**
             * Format: int64
             * @description The version of the change set that the caller saw.
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
             * @description The kind, for machines: of a row one of the codes of problems; of a set `csv_malformed` or `too_many_rows`.
             * @example version_mismatch
             */
            code: string;
            /**
             * @description What went wrong this time.
             * @example The quota is at version 4, not 3.
             */
            detail: string;
            /** @description Every broken field, with `validation_failed`. */
            errors?: components["schemas"]["FieldError"][];
        };
        Series: {
            /**
             * @description How long each step is.
             * @example day
             * @enum {string}
             */
            step: "day" | "hour";
            /** @description Every step up to the present, oldest first, also those in which nothing was used. */
            items: components["schemas"]["UsageStep"][];
        };
        SmsBatch: {
            /** @description 1 … 1000 consumes, decided in order. */
            items: components["schemas"]["SmsBatchItem"][];
        };
        SmsBatchAnswer: {
            /** @description The results. */
            results: (components["schemas"]["SmsBatchDone"] | components["schemas"]["BatchRefused"])[];
        };
        SmsBatchDone: {
            /**
             * @description The status that the item would have had as a request of its own.
             * @example 200
             * @enum {integer}
             */
            status: 200;
            /**
             * @description Whether this repeats an earlier answer.
             * @example false
             */
            replayed: boolean;
            /** @description What it made. */
            operation: components["schemas"]["SmsOperation"];
        };
        SmsBatchItem: {
            /**
             * Format: int64
             * @description Units to spend; all of them or none.
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
             * @description Who spends.
             * @example 7
             */
            user_id: number;
        };
        SmsChange: {
            /**
             * Format: int64
             * @description Rises with time.
             * @example 31
             */
            id: number;
            /**
             * Format: int64
             * @description The quota that was changed.
             * @example 12
             */
            quota_id: number;
            /**
             * @description What was done.
             * @example update
             * @enum {string}
             */
            action: "create" | "update" | "delete" | "restore" | "reset";
            /**
             * @description The name of the principal who did it.
             * @example back-office
             */
            actor: string;
            /**
             * @description The X-Request-Id of the request that did it.
             * @example 01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d
             */
            request_id: string;
            /**
             * Format: date-time
             * @description When it was done.
             * @example 2026-12-01T00:00:00.000Z
             */
            at: string;
            /** @description What changed, as it was; empty for a create. */
            before: components["schemas"]["ChangedSettings"];
            /** @description The same, as it became. */
            after: components["schemas"]["ChangedSettings"];
            /**
             * Format: int64
             * @description The change set that it was part of; absent where this quota was changed alone.
             * @example 5
             */
            change_set_id?: number;
            /**
             * Format: int64
             * @description Whose quota it is.
             * @example 7
             */
            user_id: number;
        };
        SmsChangeEvent: {
            /**
             * Format: uuid
             * @description Tells it apart from every other one; a UUIDv7.
             * @example 01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d
             */
            id: string;
            /**
             * Format: date-time
             * @description When it happened.
             * @example 2026-12-01T00:00:00.000Z
             */
            at: string;
            /**
             * Format: int64
             * @description The quota.
             * @example 12
             */
            quota_id: number;
            /**
             * @description What happened.
             * @example quota.created
             * @enum {string}
             */
            type: "quota.created" | "quota.updated" | "quota.deleted" | "quota.restored" | "quota.reset";
            /**
             * Format: int64
             * @description Whose quota it is.
             * @example 7
             */
            user_id: number;
            /** @description The change. */
            data: components["schemas"]["SmsChange"];
        };
        SmsChangeFilter: {
            /**
             * @description Only those that are so at this instant.
             * @example active
             * @enum {string}
             */
            status?: "active" | "disabled" | "expired";
            /**
             * @description Only caps of that kind, or with `none` only quotas that pay.
             * @example enforce
             * @enum {string}
             */
            cap?: "enforce" | "observe" | "none";
            /**
             * @description Only those whose label begins so, whatever the case; accents count, and nothing is a wildcard.
             * @example Spring
             */
            label?: string;
            /**
             * Format: int64
             * @description Only this user's.
             * @example 7
             */
            user_id?: number;
            /**
             * @description All of them; alone.
             * @example true
             * @enum {boolean}
             */
            all?: true;
        };
        SmsChangePage: {
            /**
             * Format: int64
             * @description The page shown, from 1.
             * @example 1
             */
            page: number;
            /**
             * @description The size asked for, 1 … 100.
             * @example 20
             */
            page_size: number;
            /**
             * Format: int64
             * @description How long the whole list is.
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
             * @description From 1: by quota, or in the order of the file.
             * @example 1
             */
            row: number;
            /**
             * Format: int64
             * @description The line of the file on which the record begins; null without a file.
             * @example null
             */
            line: number | null;
            /**
             * Format: int64
             * @description The quota; null of one that is yet to be made, and where the record names none.
             * @example 12
             */
            quota_id: number | null;
            /**
             * @description What is done.
             * @example update
             * @enum {string}
             */
            action: "create" | "update" | "delete" | "reset";
            /**
             * @description What became of it.
             * @example planned
             * @enum {string}
             */
            outcome: "planned" | "unchanged" | "invalid" | "applied" | "conflict" | "reverted" | "kept";
            /** @description What changes, as it was; empty where nothing does. */
            before: components["schemas"]["ChangedSettings"];
            /** @description The same, as it becomes. */
            after: components["schemas"]["ChangedSettings"];
            /** @description Why it was not done; null where it is to be, or was. */
            problem: components["schemas"]["RowProblem"] | null;
            /**
             * Format: int64
             * @description Whose quota it is; null where the record names nobody.
             * @example 7
             */
            user_id: number | null;
        };
        SmsChangeSetRowsPage: {
            /**
             * Format: int64
             * @description Hand it in as `after` for the next page; null at the end.
             * @example 100
             */
            next_after: number | null;
            /** @description The rows. */
            items: components["schemas"]["SmsChangeSetRow"][];
        };
        SmsChangesPage: {
            /**
             * Format: int64
             * @description Hand it in as `before` for the next page; null at the end.
             * @example 31
             */
            next_before: number | null;
            /** @description The changes. */
            items: components["schemas"]["SmsChange"][];
        };
        SmsConsume: {
            /**
             * Format: int64
             * @description Units to spend; all of them or none.
             * @example 5
             */
            amount: number;
            /**
             * Format: int64
             * @description Who spends.
             * @example 7
             */
            user_id: number;
        };
        SmsEventsPage: {
            /**
             * @description Hand it in as `after` to go on, at once or later; never null. An empty page is the end for now.
             * @example e1841
             */
            next_after: string;
            /** @description The events. */
            items: (components["schemas"]["SmsThresholdEvent"] | components["schemas"]["SmsChangeEvent"])[];
        };
        SmsExpiringPage: {
            /**
             * @description Hand it in as `cursor` for the next page; null at the end.
             * @example 1798761600000.12
             */
            next_cursor: string | null;
            /** @description The quotas. */
            items: components["schemas"]["SmsQuota"][];
        };
        SmsLedgerPage: {
            /**
             * Format: uuid
             * @description Hand it in as `before` for the next page; null at the end. To a token of the scope `own` a page with few or no operations may name a next one.
             * @example 01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d
             */
            next_before: string | null;
            /**
             * Format: date-time
             * @description From this instant on the ledger is whole, what was settled before is no longer kept; absent where everything is.
             * @example 2026-12-01T00:00:00.000Z
             */
            begins_at?: string;
            /** @description The operations. */
            items: components["schemas"]["SmsListedOperation"][];
        };
        SmsListedOperation: {
            /**
             * Format: uuid
             * @description UUIDv7; rises with time.
             * @example 01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d
             */
            id: string;
            /**
             * @description How it began.
             * @example consume
             * @enum {string}
             */
            kind: "consume" | "reserve";
            /**
             * @description What has become of it.
             * @example consumed
             * @enum {string}
             */
            state: "consumed" | "reserved" | "committed" | "released" | "expired";
            /**
             * Format: int64
             * @description Units asked for.
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
             * @description Units of `charged` that came back.
             * @example 0
             */
            refunded: number;
            /** @description Which quotas paid, as drawn, in draw-down order. */
            allocations: components["schemas"]["Allocation"][];
            /**
             * @description The caps that counted it, with its whole amount, ids ascending; absent where there were none.
             * @example [
             *       9,
             *       10
             *     ]
             */
            caps?: number[];
            /**
             * @description The observe caps among them that would have refused it; in the first answer and its replays alone, absent where there were none.
             * @example [
             *       10
             *     ]
             */
            would_refuse?: number[];
            /**
             * Format: int64
             * @description What the owner could take in one consume right after the operation's last act.
             * @example 970
             */
            owner_remaining: number;
            /**
             * Format: date-time
             * @description When the hold ends by itself; null for a consume.
             * @example null
             */
            expires_at: string | null;
            /**
             * Format: date-time
             * @description When it was made.
             * @example 2026-12-01T00:00:00.000Z
             */
            created_at: string;
            /**
             * Format: int64
             * @description Who spends.
             * @example 7
             */
            user_id: number;
            /** @description Who made it, and with which key; there with `made_by=true` alone. */
            made_by?: components["schemas"]["MadeBy"];
        };
        SmsListedQuota: {
            /**
             * Format: int64
             * @description The quota's identifier.
             * @example 12
             */
            id: number;
            /**
             * @description 1: total units until `expire_at`. 2: total units per cycle. 3: total units in any `window_seconds`, a cap.
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
             * @description Units spent, of a cycle quota in the running cycle, of a rolling cap in its window. Those of an observe cap may pass `total`.
             * @example 20
             */
            used: number;
            /**
             * Format: int64
             * @description Units held by open reservations.
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
             * @description Derived at the moment of reading: `disabled` by an administrator, else `expired` once `expire_at` has come, else `active`.
             * @example active
             * @enum {string}
             */
            status: "active" | "disabled" | "expired";
            /**
             * Format: date-time
             * @description From this instant on the quota is over; null: never.
             * @example null
             */
            expire_at: string | null;
            /**
             * @description How long a cycle lasts; null for types 1 and 3.
             * @example month
             * @enum {string|null}
             */
            cycle_unit: "hour" | "day" | "week" | "month" | "year" | null;
            /**
             * Format: date-time
             * @description The next reset by the calendar, even where `expire_at` comes first; null for types 1 and 3.
             * @example 2026-12-01T00:00:00.000Z
             */
            cycle_reset_at: string | null;
            /**
             * Format: date-time
             * @description Reset number 0, which all others are counted from; null for types 1 and 3.
             * @example 2026-12-01T00:00:00.000Z
             */
            cycle_anchor_at: string | null;
            /**
             * @description The IANA zone whose calendar the cycle follows, as given; null for types 1 and 3.
             * @example UTC
             */
            cycle_time_zone: string | null;
            /**
             * @description What people call it, as given; null where nobody named it.
             * @example Spring campaign
             */
            label: string | null;
            /**
             * @description Null: the quota pays. Else it is a cap: it bounds what the owner takes (`enforce`), or tells what it would have refused (`observe`).
             * @example null
             * @enum {string|null}
             */
            cap: "enforce" | "observe" | null;
            /**
             * @description The window of a rolling cap, in seconds; null for types 1 and 2.
             * @example null
             */
            window_seconds: number | null;
            /**
             * @description Per cent of `total` that are told of as events, ascending; null for type 3.
             * @example [
             *       50,
             *       80
             *     ]
             */
            thresholds: number[] | null;
            /**
             * Format: int64
             * @description Starts at 1 and counts edits of the settings, not usage.
             * @example 3
             */
            version: number;
            /**
             * Format: date-time
             * @description When the quota was made.
             * @example 2026-12-01T00:00:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it was edited, deleted, restored or reset last; usage leaves it alone.
             * @example 2026-12-01T00:00:00.000Z
             */
            updated_at: string;
            /**
             * Format: int64
             * @description The user whom the quota limits.
             * @example 7
             */
            user_id: number;
            /**
             * Format: date-time
             * @description When it was deleted; there with `deleted=true` alone.
             * @example 2026-12-01T00:00:00.000Z
             */
            deleted_at?: string;
        };
        SmsOperation: {
            /**
             * Format: uuid
             * @description UUIDv7; rises with time.
             * @example 01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d
             */
            id: string;
            /**
             * @description How it began.
             * @example consume
             * @enum {string}
             */
            kind: "consume" | "reserve";
            /**
             * @description What has become of it.
             * @example consumed
             * @enum {string}
             */
            state: "consumed" | "reserved" | "committed" | "released" | "expired";
            /**
             * Format: int64
             * @description Units asked for.
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
             * @description Units of `charged` that came back.
             * @example 0
             */
            refunded: number;
            /** @description Which quotas paid, as drawn, in draw-down order. */
            allocations: components["schemas"]["Allocation"][];
            /**
             * @description The caps that counted it, with its whole amount, ids ascending; absent where there were none.
             * @example [
             *       9,
             *       10
             *     ]
             */
            caps?: number[];
            /**
             * @description The observe caps among them that would have refused it; in the first answer and its replays alone, absent where there were none.
             * @example [
             *       10
             *     ]
             */
            would_refuse?: number[];
            /**
             * Format: int64
             * @description What the owner could take in one consume right after the operation's last act.
             * @example 970
             */
            owner_remaining: number;
            /**
             * Format: date-time
             * @description When the hold ends by itself; null for a consume.
             * @example null
             */
            expires_at: string | null;
            /**
             * Format: date-time
             * @description When it was made.
             * @example 2026-12-01T00:00:00.000Z
             */
            created_at: string;
            /**
             * Format: int64
             * @description Who spends.
             * @example 7
             */
            user_id: number;
        };
        SmsOwner: {
            /**
             * Format: int64
             * @description The sum of the active quotas' totals.
             * @example 1500
             */
            total: number;
            /**
             * Format: int64
             * @description The sum of what they have spent.
             * @example 20
             */
            used: number;
            /**
             * Format: int64
             * @description The sum of what their open reservations hold.
             * @example 5
             */
            reserved: number;
            /**
             * Format: int64
             * @description The sum of the quotas' own remaining; after a lowered total it may exceed total - used - reserved.
             * @example 1475
             */
            remaining: number;
            /**
             * @description How many quotas are active that pay.
             * @example 2
             */
            quota_count: number;
            /**
             * Format: int64
             * @description What one consume could take now: `remaining`, bounded by what remains of each enforce cap; 0 without an active payer.
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
        SmsOwnersPage: {
            /**
             * Format: int64
             * @description Hand it in as `after` for the next page; null at the end.
             * @example 7
             */
            next_after: number | null;
            /** @description Each with what its active quotas add up to. */
            items: components["schemas"]["SmsOwner"][];
        };
        SmsQuota: {
            /**
             * Format: int64
             * @description The quota's identifier.
             * @example 12
             */
            id: number;
            /**
             * @description 1: total units until `expire_at`. 2: total units per cycle. 3: total units in any `window_seconds`, a cap.
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
             * @description Units spent, of a cycle quota in the running cycle, of a rolling cap in its window. Those of an observe cap may pass `total`.
             * @example 20
             */
            used: number;
            /**
             * Format: int64
             * @description Units held by open reservations.
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
             * @description Derived at the moment of reading: `disabled` by an administrator, else `expired` once `expire_at` has come, else `active`.
             * @example active
             * @enum {string}
             */
            status: "active" | "disabled" | "expired";
            /**
             * Format: date-time
             * @description From this instant on the quota is over; null: never.
             * @example null
             */
            expire_at: string | null;
            /**
             * @description How long a cycle lasts; null for types 1 and 3.
             * @example month
             * @enum {string|null}
             */
            cycle_unit: "hour" | "day" | "week" | "month" | "year" | null;
            /**
             * Format: date-time
             * @description The next reset by the calendar, even where `expire_at` comes first; null for types 1 and 3.
             * @example 2026-12-01T00:00:00.000Z
             */
            cycle_reset_at: string | null;
            /**
             * Format: date-time
             * @description Reset number 0, which all others are counted from; null for types 1 and 3.
             * @example 2026-12-01T00:00:00.000Z
             */
            cycle_anchor_at: string | null;
            /**
             * @description The IANA zone whose calendar the cycle follows, as given; null for types 1 and 3.
             * @example UTC
             */
            cycle_time_zone: string | null;
            /**
             * @description What people call it, as given; null where nobody named it.
             * @example Spring campaign
             */
            label: string | null;
            /**
             * @description Null: the quota pays. Else it is a cap: it bounds what the owner takes (`enforce`), or tells what it would have refused (`observe`).
             * @example null
             * @enum {string|null}
             */
            cap: "enforce" | "observe" | null;
            /**
             * @description The window of a rolling cap, in seconds; null for types 1 and 2.
             * @example null
             */
            window_seconds: number | null;
            /**
             * @description Per cent of `total` that are told of as events, ascending; null for type 3.
             * @example [
             *       50,
             *       80
             *     ]
             */
            thresholds: number[] | null;
            /**
             * Format: int64
             * @description Starts at 1 and counts edits of the settings, not usage.
             * @example 3
             */
            version: number;
            /**
             * Format: date-time
             * @description When the quota was made.
             * @example 2026-12-01T00:00:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it was edited, deleted, restored or reset last; usage leaves it alone.
             * @example 2026-12-01T00:00:00.000Z
             */
            updated_at: string;
            /**
             * Format: int64
             * @description The user whom the quota limits.
             * @example 7
             */
            user_id: number;
        };
        SmsQuotaPage: {
            /**
             * Format: int64
             * @description The page shown, from 1.
             * @example 1
             */
            page: number;
            /**
             * @description The size asked for, 1 … 100.
             * @example 20
             */
            page_size: number;
            /**
             * Format: int64
             * @description How long the whole list is.
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
             * @description Units to hold; all of them or none.
             * @example 5
             */
            amount: number;
            /**
             * @description How long the hold lasts unless it is settled before, in seconds.
             * @default 600
             * @example 600
             */
            ttl_seconds?: number;
            /**
             * Format: int64
             * @description For whom they are held.
             * @example 7
             */
            user_id: number;
        };
        SmsSummary: {
            /**
             * Format: int64
             * @description The sum of the active quotas' totals.
             * @example 1500
             */
            total: number;
            /**
             * Format: int64
             * @description The sum of what they have spent.
             * @example 20
             */
            used: number;
            /**
             * Format: int64
             * @description The sum of what their open reservations hold.
             * @example 5
             */
            reserved: number;
            /**
             * Format: int64
             * @description The sum of the quotas' own remaining; after a lowered total it may exceed total - used - reserved.
             * @example 1475
             */
            remaining: number;
            /**
             * @description How many quotas are active that pay.
             * @example 2
             */
            quota_count: number;
            /**
             * Format: int64
             * @description What one consume could take now: `remaining`, bounded by what remains of each enforce cap; 0 without an active payer.
             * @example 1475
             */
            available: number;
            /**
             * @description The active caps, ids ascending.
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
             * @description Tells it apart from every other one; a UUIDv7.
             * @example 01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d
             */
            id: string;
            /**
             * Format: date-time
             * @description When it happened.
             * @example 2026-12-01T00:00:00.000Z
             */
            at: string;
            /**
             * Format: int64
             * @description The quota.
             * @example 12
             */
            quota_id: number;
            /**
             * @description What happened.
             * @example quota.threshold_reached
             * @enum {string}
             */
            type: "quota.threshold_reached";
            /** @description Which, and how far it has come. */
            data: components["schemas"]["PassedThresholds"];
            /**
             * Format: int64
             * @description Whose quota it is.
             * @example 7
             */
            user_id: number;
        };
        SmsTopRefusal: {
            /**
             * @description Why. `quota_observed`: what was taken although an observe cap would have refused it.
             * @example quota_exceeded
             * @enum {string}
             */
            code: "quota_exceeded" | "no_active_quota" | "quota_observed";
            /**
             * Format: int64
             * @description Attempts, repeated ones too.
             * @example 41
             */
            count: number;
            /**
             * Format: int64
             * @description The sum of what they asked for.
             * @example 120
             */
            requested: number;
            /**
             * Format: date-time
             * @description The last one.
             * @example 2026-12-01T00:00:00.000Z
             */
            last_at: string;
            /**
             * Format: int64
             * @description Who was refused.
             * @example 7
             */
            user_id: number;
        };
        SmsTopRefusals: {
            /** @description One for each user and reason. */
            items: components["schemas"]["SmsTopRefusal"][];
        };
        Tested: {
            /**
             * @description What was answered; null where nothing was.
             * @example 204
             */
            status: number | null;
            /**
             * @description Why it was not received; null where it was.
             * @example answered 500
             */
            error: string | null;
            /**
             * Format: int64
             * @description How long it took, in milliseconds.
             * @example 12
             */
            ms: number;
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
        UpdateMailQuota: {
            /**
             * Format: int64
             * @description The allowance; may go below what is used, `remaining` is then 0.
             * @example 1000
             */
            total?: number;
            /**
             * @description `active` or `disabled`; `expired` only as the echo of a record that is.
             * @example active
             * @enum {string}
             */
            status?: "active" | "disabled" | "expired";
            /**
             * Format: date-time
             * @description May lie in the past: the quota is over at once. Null: never ends (types 2 and 3).
             * @example null
             */
            expire_at?: string | null;
            /**
             * @description Type 2. A change keeps the next reset and steps by the new unit from there.
             * @example month
             * @enum {string|null}
             */
            cycle_unit?: "hour" | "day" | "week" | "month" | "year" | null;
            /**
             * Format: date-time
             * @description Type 2. Where it changes it lies in the future, is the new anchor, and ends the running cycle then.
             * @example 2099-12-01T00:00:00.000Z
             */
            cycle_reset_at?: string | null;
            /**
             * @description Type 2. A change keeps the next reset and follows the new zone from there.
             * @example UTC
             */
            cycle_time_zone?: string | null;
            /**
             * @description What people call it; null takes the name away.
             * @example Spring campaign
             */
            label?: string | null;
            /**
             * @description Of a cap: `enforce` or `observe`. Null only as the echo of a quota that pays.
             * @example null
             * @enum {string|null}
             */
            cap?: "enforce" | "observe" | null;
            /**
             * @description Type 3. A change begins a new count.
             * @example 86400
             */
            window_seconds?: number | null;
            /**
             * @description Types 1 and 2: all of them, `[]` for none. Null only as the echo of type 3.
             * @example [
             *       50,
             *       80
             *     ]
             */
            thresholds?: number[] | null;
            /**
             * Format: int64
             * @description The version the caller read; where it is no longer the current one, nothing changes and the answer is `version_mismatch`.
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
            created_at?: unknown;
            /** @description Accepted and ignored. */
            updated_at?: unknown;
            /** @description Accepted and ignored. */
            deleted_at?: unknown;
        };
        UpdateSmsQuota: {
            /**
             * Format: int64
             * @description The allowance; may go below what is used, `remaining` is then 0.
             * @example 1000
             */
            total?: number;
            /**
             * @description `active` or `disabled`; `expired` only as the echo of a record that is.
             * @example active
             * @enum {string}
             */
            status?: "active" | "disabled" | "expired";
            /**
             * Format: date-time
             * @description May lie in the past: the quota is over at once. Null: never ends (types 2 and 3).
             * @example null
             */
            expire_at?: string | null;
            /**
             * @description Type 2. A change keeps the next reset and steps by the new unit from there.
             * @example month
             * @enum {string|null}
             */
            cycle_unit?: "hour" | "day" | "week" | "month" | "year" | null;
            /**
             * Format: date-time
             * @description Type 2. Where it changes it lies in the future, is the new anchor, and ends the running cycle then.
             * @example 2099-12-01T00:00:00.000Z
             */
            cycle_reset_at?: string | null;
            /**
             * @description Type 2. A change keeps the next reset and follows the new zone from there.
             * @example UTC
             */
            cycle_time_zone?: string | null;
            /**
             * @description What people call it; null takes the name away.
             * @example Spring campaign
             */
            label?: string | null;
            /**
             * @description Of a cap: `enforce` or `observe`. Null only as the echo of a quota that pays.
             * @example null
             * @enum {string|null}
             */
            cap?: "enforce" | "observe" | null;
            /**
             * @description Type 3. A change begins a new count.
             * @example 86400
             */
            window_seconds?: number | null;
            /**
             * @description Types 1 and 2: all of them, `[]` for none. Null only as the echo of type 3.
             * @example [
             *       50,
             *       80
             *     ]
             */
            thresholds?: number[] | null;
            /**
             * Format: int64
             * @description The version the caller read; where it is no longer the current one, nothing changes and the answer is `version_mismatch`.
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
            created_at?: unknown;
            /** @description Accepted and ignored. */
            updated_at?: unknown;
            /** @description Accepted and ignored. */
            deleted_at?: unknown;
        };
        UsageStep: {
            /**
             * Format: date-time
             * @description Its beginning.
             * @example 2026-12-01T00:00:00.000Z
             */
            began_at: string;
            /**
             * Format: int64
             * @description Units that consumes and commits of that time charged, gross.
             * @example 120
             */
            charged: number;
            /**
             * Format: int64
             * @description Units that refunds of that time gave back, whenever they had been charged.
             * @example 5
             */
            refunded: number;
            /**
             * Format: int64
             * @description Units that refused attempts asked for; null for a quota, since attempts are an owner's.
             * @example 40
             */
            refused: number | null;
            /**
             * Format: int64
             * @description Refused attempts; null for a quota.
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
        /** @description The quota has changed. */
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
             * @description As the operator's file names it.
             * @example ops
             */
            name: string;
            /**
             * @description Without query and user; null where the instance that answers does not know it.
             * @example https://ops.example.com/hooks/quota
             */
            url: string | null;
            /**
             * @description What it is told of.
             * @example [
             *       "quota.threshold_reached"
             *     ]
             */
            types: ("quota.threshold_reached" | "quota.created" | "quota.updated" | "quota.deleted" | "quota.restored" | "quota.reset")[];
            /**
             * @description The channels that it is told of.
             * @example [
             *       "mail"
             *     ]
             */
            channels: ("mail" | "sms")[];
            /**
             * @description disabled: it has answered 410. removed: in the file of no live instance.
             * @example active
             * @enum {string}
             */
            state: "active" | "disabled" | "removed";
            /**
             * Format: int64
             * @description Events that it has received.
             * @example 1812
             */
            delivered: number;
            /**
             * Format: int64
             * @description Events that were given up.
             * @example 0
             */
            failed: number;
            /**
             * Format: int64
             * @description Events that wait for it.
             * @example 3
             */
            waiting: number;
            /**
             * Format: date-time
             * @description When the oldest of them happened.
             * @example 2026-12-01T00:00:00.000Z
             */
            oldest_waiting_at: string | null;
            /** @description Null before the first one. */
            last_attempt: components["schemas"]["WebhookAttempt"] | null;
        };
        WebhookAttempt: {
            /**
             * Format: date-time
             * @description When it ended.
             * @example 2026-12-01T00:00:00.000Z
             */
            at: string;
            /**
             * @description What was answered; null where nothing was.
             * @example 204
             */
            status: number | null;
            /**
             * @description Why it was not received; null where it was.
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
    smsChangeSetList: {
        parameters: {
            query?: {
                /** @description Only those in this state. */
                state?: "preparing" | "ready" | "applying" | "applied" | "reverting" | "reverted" | "failed";
                /** @description Only those with a smaller id: the `next_before` of the page before. */
                before?: number;
                /** @description Change sets on a page. */
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
                /** @description Only those of which this became. */
                outcome?: "planned" | "unchanged" | "invalid" | "applied" | "conflict" | "reverted" | "kept";
                /** @description Only rows behind this one: the `next_after` of the page before. */
                after?: number;
                /** @description Rows on a page. */
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
                /** @description Only those of which this became. */
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
                /** @description Only what this principal did, by its name. */
                actor?: string;
                /** @description Only what was done so. */
                action?: "create" | "update" | "delete" | "restore" | "reset";
                /** @description Only of this quota. */
                quota_id?: number;
                /** @description Only what the request with this X-Request-Id did. */
                request_id?: string;
                /** @description Only from this instant on. */
                from?: string;
                /** @description Only before this instant. */
                to?: string;
                /** @description Only changes with a smaller id: the `next_before` of the page before. */
                before?: number;
                /** @description Changes on a page. */
                page_size?: number;
                /** @description Only of this user's quotas. */
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
                /** @description The `next_after` of an earlier page: only what comes behind it; or `latest`, which is behind all there is. Absent: from the beginning of what is kept. */
                after?: string;
                /** @description Only of this type. */
                type?: "quota.threshold_reached" | "quota.created" | "quota.updated" | "quota.deleted" | "quota.restored" | "quota.reset";
                /** @description Only of this quota. */
                quota_id?: number;
                /** @description Events on a page. */
                page_size?: number;
                /** @description Only of this user's quotas. */
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
                /** @description Only those that end within so many days of 24 hours. */
                days?: number;
                /** @description The `next_cursor` of the page before; `days` is to be sent again. */
                cursor?: string;
                /** @description Quotas on a page. */
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
                /** @description Only those that are so at this instant. */
                status?: "active" | "disabled" | "expired";
                /** @description Only soft-deleted ones, which are in no list else; each then says when it was deleted. */
                deleted?: "true";
                /** @description Only caps of that kind, or with `none` only quotas that pay. */
                cap?: "enforce" | "observe" | "none";
                /** @description Only those whose label begins so, whatever the case; accents count, and nothing is a wildcard. */
                label?: string;
                /** @description Only this user's. */
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
                /** @description Only those that are so at this instant. */
                status?: "active" | "disabled" | "expired";
                /** @description Only soft-deleted ones, which are in no list else; each then says when it was deleted. */
                deleted?: "true";
                /** @description Only caps of that kind, or with `none` only quotas that pay. */
                cap?: "enforce" | "observe" | "none";
                /** @description Only those whose label begins so, whatever the case; accents count, and nothing is a wildcard. */
                label?: string;
                /** @description Only this user's. */
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
                /** @description Only owners with a larger id: the `next_after` of the page before. */
                after?: number;
                /** @description Owners on a page. */
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
    smsOfficeRefusals: {
        parameters: {
            query: {
                /** @description Only hours that began at this instant or later, at most 31 days ago; absent: 31 days ago. */
                from?: string;
                /** @description Only hours that began before this instant. */
                to?: string;
                /** @description Says of each count which amounts were refused. */
                amounts?: "true";
                /** @description The user. */
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
                    "application/json": components["schemas"]["Refusals"];
                };
            };
        };
    };
    smsOfficeTopRefusals: {
        parameters: {
            query?: {
                /** @description The hour that is running, and so many less one before it. */
                hours?: number;
                /** @description Items shown. */
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
                /** @description The user. */
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
                /** @description The version the caller read; where it is no longer the current one, nothing is deleted. */
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
                /** @description Only operations that this quota paid a part of, or that this cap counted; a deleted one's too. */
                quota_id?: number;
                /** @description Only what this key made or refunded: one operation, or with `caller=*` one for each caller who has sent it. */
                idempotency_key?: string;
                /**
                 * @description Whose key it is, by the principal's name; without it, the asking one's. `*` looks under every name that has spent in this channel in the last 31 days, newest
                 *     operation first, at most 20. Another's, and `*`, need the role that the quotas need.
                 */
                caller?: string;
                /** @description Only operations that have become so. */
                state?: "consumed" | "reserved" | "committed" | "released" | "expired";
                /** @description Only operations that began so. */
                kind?: "consume" | "reserve";
                /** @description Only operations made at this instant or later. */
                from?: string;
                /** @description Only operations made before this instant. */
                to?: string;
                /** @description Only operations older than this one: the `next_before` of the page before. */
                before?: string;
                /** @description Operations on a page. */
                page_size?: number;
                /** @description Says of each operation who made it, and with which key. */
                made_by?: "true";
                /** @description Only operations of this owner. */
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
                /** @description Units that would be asked for. */
                amount: number;
                /** @description Who would spend. */
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
                /** @description Only usage of this quota; a deleted one's too. */
                quota_id?: number;
                /** @description How long each step is; hours and days begin where UTC says. */
                step?: "day" | "hour";
                /** @description Only steps that begin at this instant or later: of hours, at most 31 days ago; absent: 30 days or 24 hours in all. */
                from?: string;
                /** @description Only steps that begin before this instant; absent: up to the present. A series of days has at most 366. */
                to?: string;
                /** @description Only usage of this owner. */
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
                /** @description Only those that are so at this instant. */
                status?: "active" | "disabled" | "expired";
                /** @description Only soft-deleted ones, which are in no list else; each then says when it was deleted. */
                deleted?: "true";
                /** @description Only caps of that kind, or with `none` only quotas that pay. */
                cap?: "enforce" | "observe" | "none";
                /** @description Only those whose label begins so, whatever the case; accents count, and nothing is a wildcard. */
                label?: string;
                /** @description Only this account's. */
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
    mailChangeSetList: {
        parameters: {
            query?: {
                /** @description Only those in this state. */
                state?: "preparing" | "ready" | "applying" | "applied" | "reverting" | "reverted" | "failed";
                /** @description Only those with a smaller id: the `next_before` of the page before. */
                before?: number;
                /** @description Change sets on a page. */
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
                /** @description Only those of which this became. */
                outcome?: "planned" | "unchanged" | "invalid" | "applied" | "conflict" | "reverted" | "kept";
                /** @description Only rows behind this one: the `next_after` of the page before. */
                after?: number;
                /** @description Rows on a page. */
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
                /** @description Only those of which this became. */
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
                /** @description Only what this principal did, by its name. */
                actor?: string;
                /** @description Only what was done so. */
                action?: "create" | "update" | "delete" | "restore" | "reset";
                /** @description Only of this quota. */
                quota_id?: number;
                /** @description Only what the request with this X-Request-Id did. */
                request_id?: string;
                /** @description Only from this instant on. */
                from?: string;
                /** @description Only before this instant. */
                to?: string;
                /** @description Only changes with a smaller id: the `next_before` of the page before. */
                before?: number;
                /** @description Changes on a page. */
                page_size?: number;
                /** @description Only of this account's quotas. */
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
                /** @description The `next_after` of an earlier page: only what comes behind it; or `latest`, which is behind all there is. Absent: from the beginning of what is kept. */
                after?: string;
                /** @description Only of this type. */
                type?: "quota.threshold_reached" | "quota.created" | "quota.updated" | "quota.deleted" | "quota.restored" | "quota.reset";
                /** @description Only of this quota. */
                quota_id?: number;
                /** @description Events on a page. */
                page_size?: number;
                /** @description Only of this account's quotas. */
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
                /** @description Only those that end within so many days of 24 hours. */
                days?: number;
                /** @description The `next_cursor` of the page before; `days` is to be sent again. */
                cursor?: string;
                /** @description Quotas on a page. */
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
                /** @description Only those that are so at this instant. */
                status?: "active" | "disabled" | "expired";
                /** @description Only soft-deleted ones, which are in no list else; each then says when it was deleted. */
                deleted?: "true";
                /** @description Only caps of that kind, or with `none` only quotas that pay. */
                cap?: "enforce" | "observe" | "none";
                /** @description Only those whose label begins so, whatever the case; accents count, and nothing is a wildcard. */
                label?: string;
                /** @description Only this account's. */
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
                /** @description Only owners with a larger id: the `next_after` of the page before. */
                after?: number;
                /** @description Owners on a page. */
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
    mailOfficeRefusals: {
        parameters: {
            query: {
                /** @description Only hours that began at this instant or later, at most 31 days ago; absent: 31 days ago. */
                from?: string;
                /** @description Only hours that began before this instant. */
                to?: string;
                /** @description Says of each count which amounts were refused. */
                amounts?: "true";
                /** @description The account. */
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
                    "application/json": components["schemas"]["Refusals"];
                };
            };
        };
    };
    mailOfficeTopRefusals: {
        parameters: {
            query?: {
                /** @description The hour that is running, and so many less one before it. */
                hours?: number;
                /** @description Items shown. */
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
                /** @description Only operations that this quota paid a part of, or that this cap counted; a deleted one's too. */
                quota_id?: number;
                /** @description Only what this key made or refunded: one operation, or with `caller=*` one for each caller who has sent it. */
                idempotency_key?: string;
                /**
                 * @description Whose key it is, by the principal's name; without it, the asking one's. `*` looks under every name that has spent in this channel in the last 31 days, newest
                 *     operation first, at most 20. Another's, and `*`, need the role that the quotas need.
                 */
                caller?: string;
                /** @description Only operations that have become so. */
                state?: "consumed" | "reserved" | "committed" | "released" | "expired";
                /** @description Only operations that began so. */
                kind?: "consume" | "reserve";
                /** @description Only operations made at this instant or later. */
                from?: string;
                /** @description Only operations made before this instant. */
                to?: string;
                /** @description Only operations older than this one: the `next_before` of the page before. */
                before?: string;
                /** @description Operations on a page. */
                page_size?: number;
                /** @description Says of each operation who made it, and with which key. */
                made_by?: "true";
                /** @description Only operations of this owner. */
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
                /** @description Units that would be asked for. */
                amount: number;
                /** @description Who would spend. */
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
                /** @description Only usage of this quota; a deleted one's too. */
                quota_id?: number;
                /** @description How long each step is; hours and days begin where UTC says. */
                step?: "day" | "hour";
                /** @description Only steps that begin at this instant or later: of hours, at most 31 days ago; absent: 30 days or 24 hours in all. */
                from?: string;
                /** @description Only steps that begin before this instant; absent: up to the present. A series of days has at most 366. */
                to?: string;
                /** @description Only usage of this owner. */
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
                /** @description The version the caller read; where it is no longer the current one, nothing is deleted. */
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
                /** @description As WEBHOOKS_FILE names it. */
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
                /** @description As WEBHOOKS_FILE names it. */
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
                /** @description As WEBHOOKS_FILE names it. */
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
