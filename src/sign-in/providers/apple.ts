/** Apple: responds by form_post, requires a freshly signed client secret, and sends all facts in the id_token. */
import { createPrivateKey, type KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { aboutThePerson, textOf, confirmedAddress } from './person.ts'
import {
  type ClientSecret,
  commonPlan,
  type Evidence,
  type ProviderIdentity,
  type ProviderPlan,
} from './provider-config.ts'
import type { AppleSettings, ProviderDeclaration, Settings } from './settings.ts'

/**
 * Sign-in with Apple. `clientId` is the Services ID, or the bundle id of a native application.
 *
 * @example apple({ clientId: 'com.example.web', teamId: 'A1B2C3D4E5', keyId: 'F6G7H8I9J0', privateKeyPath: 'AuthKey.p8' })
 * @public
 */
export function apple(settings: AppleSettings = {}): ProviderDeclaration {
  return { type: 'apple', name: settings.name ?? 'apple', settings }
}

const audience = 'https://appleid.apple.com'

export function applePlan(settings: Settings): ProviderPlan {
  const teamId = settings.required('teamId')
  const keyId = settings.required('keyId')
  const common = commonPlan(settings, { displayName: 'Apple', scope: 'openid name email' })
  return {
    ...common,
    responseMode: 'form_post',
    clientSecret: signedSecret({ key: keyOf(settings), keyId, teamId, clientId: common.clientId }),
    takesChallenge: false,
    takesLoginHint: false,
    hashesNonce: true,
    metadata: {
      endpoints: {
        authorization: settings.address('authUri') ?? 'https://appleid.apple.com/auth/authorize',
        token: settings.address('tokenUri') ?? 'https://appleid.apple.com/auth/token',
        userinfo: '',
      },
      issuers: [audience, 'https://account.apple.com'],
      announcesIssuer: false,
      keySet: settings.address('jwksUri') ?? 'https://appleid.apple.com/auth/keys',
      clientAuthentication: null,
    },
    identify,
  }
}

function identify({ claims }: Evidence): Promise<ProviderIdentity> {
  const facts = aboutThePerson(claims ?? {})
  return Promise.resolve({ facts, subject: textOf(facts['sub']) ?? null, address: confirmedAddress(facts) })
}

function keyOf(settings: Settings): KeyObject {
  const path = settings.text('privateKeyPath')
  let pem = settings.text('privateKey')
  const setting = pem === undefined && path !== undefined ? 'privateKeyPath' : 'privateKey'
  if (pem === undefined && path !== undefined) {
    try {
      pem = readFileSync(path, 'utf8')
    } catch {
      return settings.refuse('privateKeyPath', `cannot be read: ${path}`)
    }
  }
  // In a variable, the key has `\n` in place of line breaks.
  pem ??= settings.required('privateKey')
  let key: KeyObject
  try {
    key = createPrivateKey(pem.replaceAll('\\n', '\n'))
  } catch {
    return settings.refuse(setting, 'must be a private key in PEM')
  }
  const isP256 = key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1'
  return isP256 ? key : settings.refuse(setting, 'must be a key for ES256 (the curve P-256)')
}

const bucketMs = 300_000

/** Lifetime of the client secret. Apple accepts up to six months; a secret that is signed on demand needs less. */
const lifetimeSeconds = 3600

interface AppleClient {
  readonly key: KeyObject
  readonly keyId: string
  readonly teamId: string
  readonly clientId: string
}

/** Signs one client secret per five minutes, and reuses it to save signatures. */
function signedSecret(client: AppleClient): ClientSecret {
  let made: { readonly bucket: number; readonly secret: Promise<string> } | undefined
  return (now) => {
    const bucket = Math.floor(now / bucketMs)
    if (made?.bucket !== bucket) {
      made = { bucket, secret: signed(client, (bucket * bucketMs) / 1000) }
    }
    return made.secret
  }
}

/** @param issuedAt Unix seconds. */
async function signed({ key, keyId, teamId, clientId }: AppleClient, issuedAt: number): Promise<string> {
  const { SignJWT } = await import('jose')
  return new SignJWT()
    .setProtectedHeader({ alg: 'ES256', kid: keyId })
    .setIssuer(teamId)
    .setSubject(clientId)
    .setAudience(audience)
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + lifetimeSeconds)
    .sign(key)
}
