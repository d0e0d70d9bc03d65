/** The parts of an identity provider that the service uses, and a valid token. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'

/** @returns the service's settings for it, and an access token for an administrator, valid for an hour */
export async function issuer() {
  const { publicKey, privateKey } = await generateKeyPair('RS256')
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  server.unref()
  const url = `http://127.0.0.1:${server.address().port}`
  const jwk = { ...(await exportJWK(publicKey)), kid: 'bench', alg: 'RS256', use: 'sig' }
  const answers = {
    '/.well-known/openid-configuration': { issuer: url, jwks_uri: `${url}/jwks` },
    '/jwks': { keys: [jwk] },
  }
  server.on('request', (request, response) => response.end(JSON.stringify(answers[request.url])))
  const token = await new SignJWT({ roles: ['bench'], preferred_username: 'bench' })
    .setProtectedHeader({ alg: 'RS256', kid: 'bench' })
    .setIssuer(url)
    .setAudience('quota')
    .setSubject('bench')
    .setIssuedAt()
    .setExpirationTime('1h')
    .sign(privateKey)
  return { env: { OIDC_ISSUER: url, OIDC_AUDIENCE: 'quota', OIDC_ROLES: 'bench:admin' }, token }
}
