import type { Connection } from 'mysql2/promise'

export function connect(url: string): Promise<Connection>
