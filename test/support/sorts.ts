import type { DataSource } from 'typeorm'
import type { TransactionRunner } from '../../src/database/transaction-runner.js'

/** A step of a plan in EXPLAIN. */
interface Step {
  readonly key: string | null
  readonly Extra: string | null
}

/** The values for placeholders: a flag, and the ends of a non-empty range of numbers, times or texts. */
const [FLAG, LOW, HIGH] = ["'1'", "'2000-01-01 00:00:00.000'", "'2026-11-21 12:00:00.000'"]

/**
 * Finds statements that sort rows which they read by an index with a virtual column: MariaDB leaves rows out then
 * (docs/decisions/0031-deleted-is-a-computed-column.md).
 */
export class Sorts {
  private readonly statements = new Set<string>()

  constructor(
    private readonly dataSource: DataSource,
    transactions: TransactionRunner,
  ) {
    const { tracer } = transactions
    transactions.tracer = {
      sending: (sql) => {
        // The only virtual column. A statement that does not name it does not compute it.
        if (sql.includes('`deleted`')) for (const statement of sql.split(';\n')) this.statements.add(statement)
        return tracer?.sending(sql)
      },
    }
  }

  /** @throws Error that names the statements that were sent and sort this way */
  async check(): Promise<void> {
    const wrong: string[] = []
    for (const statement of this.statements) if (await this.sortsByVirtual(statement)) wrong.push(statement)
    if (wrong.length > 0) throw new Error(`sorted by an index with a virtual column:\n${wrong.join('\n\n')}`)
  }

  /** Does this statement of the service sort this way? */
  async sortsByVirtual(statement: string): Promise<boolean> {
    const indexes = await this.virtualIndexes()
    const plan: Step[] = await this.dataSource.query(
      `EXPLAIN FORMAT=TRADITIONAL ${statement
        .replaceAll(/([<>=]+) \?/g, (_, compared: string) => `${compared} ${valueFor(compared)}`)
        .replaceAll(/(?<=IN \()[?, ]+(?=\))/g, FLAG)}`,
    )
    return plan.some(({ key, Extra }) => key !== null && indexes.has(key) && Extra?.includes('filesort') === true)
  }

  private async virtualIndexes(): Promise<Set<string>> {
    const rows: { name: string }[] = await this.dataSource.query(
      'SELECT DISTINCT s.INDEX_NAME AS name FROM information_schema.STATISTICS s JOIN information_schema.COLUMNS c ' +
        'ON c.TABLE_SCHEMA = s.TABLE_SCHEMA AND c.TABLE_NAME = s.TABLE_NAME AND c.COLUMN_NAME = s.COLUMN_NAME ' +
        "WHERE s.TABLE_SCHEMA = DATABASE() AND c.EXTRA LIKE '%VIRTUAL%'",
    )
    return new Set(rows.map(({ name }) => name))
  }
}

function valueFor(compared: string): string {
  return compared.startsWith('>') ? LOW : compared.startsWith('<') ? HIGH : FLAG
}
