import { execFile, execFileSync } from 'node:child_process'
import { chmod, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']

/** Can certificates be created here? */
export const CAN_CERTIFY = hasOpenssl()

function hasOpenssl(): boolean {
  try {
    return /^OpenSSL 3/.test(execFileSync('openssl', ['version'], { encoding: 'utf8' }))
  } catch {
    return false
  }
}

/** A certificate authority that nobody trusts by default. */
export class Authority {
  private constructor(
    private readonly folder: string,
    /** The file with its own certificate. */
    readonly certificate: string,
    private readonly key: string,
  ) {}

  /** @param folder the folder for all files */
  static async found(folder: string, name: string): Promise<Authority> {
    const [certificate, key] = [join(folder, `${name}.pem`), join(folder, `${name}.key`)]
    await run('openssl', ['req', '-x509', ...NEW_KEY, '-subj', `/CN=${name}`, '-keyout', key, '-out', certificate])
    return new Authority(folder, certificate, key)
  }

  /**
   * Issues a certificate that replaces an earlier one.
   * @param names in the format of a subjectAltName, e.g. `DNS:localhost`
   */
  async issue(names: string): Promise<{ certificate: string; key: string }> {
    const files = { certificate: join(this.folder, 'server.pem'), key: join(this.folder, 'server.key') }
    const made = { certificate: `${files.certificate}.new`, key: `${files.key}.new` }
    await run('openssl', [
      'req',
      '-x509',
      ...NEW_KEY,
      ...['-CA', this.certificate, '-CAkey', this.key],
      ...['-subj', '/CN=somebody', '-addext', `subjectAltName=${names}`],
      ...['-keyout', made.key, '-out', made.certificate],
    ])
    // The server runs under another account.
    await chmod(made.key, 0o644)
    await rename(made.key, files.key)
    await rename(made.certificate, files.certificate)
    return files
  }
}
