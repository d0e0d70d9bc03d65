import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { opened } from './opened.js'

/** A slow network path to the service, which loses answers. */
export class Detour {
  /** The delay of each request. */
  delayMs = 0
  /** Is the answer lost, after the request took effect? */
  loses: (path: string) => boolean = () => false
  /** The paths of all requests. */
  readonly paths: string[] = []
  /** Everything that callers have sent: paths, headers and bodies. */
  heard = ''

  private constructor(private readonly server: Server) {}

  static async start(target: string): Promise<Detour> {
    const detour: Detour = new Detour(
      createServer((incoming, outgoing) => {
        const { method = 'GET', headers, url = '' } = incoming
        detour.paths.push(url)
        detour.heard += `${url} ${JSON.stringify(headers)}\n`
        void sleep(detour.delayMs).then(() => {
          const passed = request(new URL(url, target), { method, headers }, (answer) => {
            if (detour.loses(url)) answer.resume()
            else {
              outgoing.writeHead(answer.statusCode ?? 500, answer.headers)
              answer.pipe(outgoing)
            }
          })
          passed.on('error', () => outgoing.destroy())
          incoming.on('data', (chunk: Buffer) => (detour.heard += chunk.toString('utf8')))
          incoming.pipe(passed)
        })
      }),
    )
    opened(() => {
      detour.server.close()
      detour.server.closeAllConnections()
    })
    await new Promise<void>((resolve) => detour.server.listen(0, '127.0.0.1', resolve))
    return detour
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }
}
