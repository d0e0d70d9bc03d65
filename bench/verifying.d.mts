import type { Connection } from 'mysql2/promise'

export function fillLedger(admin: Connection, plain: number, quotas?: number): Promise<void>
