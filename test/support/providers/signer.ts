/** A key pair of a provider, which signs id_tokens. */
import { exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose'

export interface Signer {
  readonly kid: string
  readonly publicKey: JWK
  /** Signs a token, without members that are undefined. */
  sign(claims: Readonly<Record<string, unknown>>, header?: Readonly<Record<string, unknown>>): Promise<string>
}

export async function createSigner(kid: string, algorithm: 'RS256' | 'ES256' = 'RS256'): Promise<Signer> {
  const { privateKey, publicKey } = await generateKeyPair(algorithm, { extractable: true })
  return {
    kid,
    publicKey: { ...(await exportJWK(publicKey)), kid, alg: algorithm, use: 'sig' },
    sign: (claims, header = {}) =>
      new SignJWT(JSON.parse(JSON.stringify(claims)) as JWTPayload)
        .setProtectedHeader(JSON.parse(JSON.stringify({ alg: algorithm, kid, ...header })) as { alg: string })
        .sign(privateKey),
  }
}
