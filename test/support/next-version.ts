import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { opened } from './opened.js'

/** Suits instances of the present version: they name the columns that they write, and this one has a default. */
const ADDS = 'AddTrial1999000000000'
/** For --finish. */
const USES = 'UseTrial1999000000001'

const MIGRATIONS = `
import { FINISHING as finishing, MIGRATIONS as migrations } from './present.js'
export { FIRST } from './present.js'

class ${ADDS} {
  async up(runner) {
    if (!(await runner.hasColumn('mail_quota', 'trial')))
      await runner.query('ALTER TABLE mail_quota ADD COLUMN trial bigint NOT NULL DEFAULT 7')
    await runner.query('CREATE TABLE IF NOT EXISTS mail_trial (id bigint NOT NULL PRIMARY KEY)')
  }
  async down(runner) {
    await runner.query('DROP TABLE IF EXISTS mail_trial')
    await runner.query('ALTER TABLE mail_quota DROP COLUMN trial')
  }
}

class ${USES} {
  async up(runner) {
    await runner.query('UPDATE mail_quota SET trial = 8')
  }
  async down(runner) {
    await runner.query('UPDATE mail_quota SET trial = 7')
  }
}

export const MIGRATIONS = [...migrations, ${ADDS}, ${USES}]
export const FINISHING = [...finishing, ${USES}]
`

/** The built service as its next version will be: a later version, and two migrations that only tests have. */
export class NextVersion {
  readonly version = '999.0.0'
  readonly adds = ADDS
  readonly uses = USES

  private constructor(private readonly folder: string) {}

  /** Needs `npm run build` before. It is removed at the end of the test file. */
  static async make(): Promise<NextVersion> {
    const next = new NextVersion(await mkdtemp(join(tmpdir(), 'quota-next-')))
    const at = (path: string): string => join(next.folder, path)
    opened(async () => rm(next.folder, { recursive: true, force: true }))
    await cp('dist', at('dist'), { recursive: true })
    await symlink(join(process.cwd(), 'node_modules'), at('node_modules'), 'dir')
    const present = JSON.parse(await readFile('package.json', 'utf8')) as object
    await writeFile(at('package.json'), JSON.stringify({ ...present, version: next.version }))
    const migrations = at('dist/src/database/migrations')
    await cp(join(migrations, 'index.js'), join(migrations, 'present.js'))
    await writeFile(join(migrations, 'index.js'), MIGRATIONS)
    return next
  }

  /** The path of a program, such as `migrate.js`. */
  program(name: string): string {
    return join(this.folder, 'dist/src', name)
  }
}
