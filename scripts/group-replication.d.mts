/** A MySQL server and the folder of its plug-ins, where both are there for Group Replication. */
export function findGroupReplication(): { server: string; plugins: string } | undefined
