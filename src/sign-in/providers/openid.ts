/** Any other provider: OpenID Connect by its issuer, or plain OAuth by its endpoints. */
import { secretOrAudiences } from './client-secret.ts'
import { identifyByOpenId } from './openid-identity.ts'
import { commonPlan, type ProviderPlan } from './provider-config.ts'
import type { OpenIdSettings, ProviderDeclaration, Settings } from './settings.ts'

/**
 * Sign-in with any provider of OpenID Connect. Discovery at the issuer finds its endpoints and keys.
 *
 * @example openid({ name: 'acme', issuer: 'https://id.acme.example', clientId: 'notes', clientSecret: '…' })
 * @public
 */
export function openid(settings: OpenIdSettings): ProviderDeclaration {
  return { type: 'openid', name: settings.name, settings }
}

/** Allowed algorithms use public keys. With a shared secret, every client could sign for the others. */
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']

export function openidPlan(settings: Settings): ProviderPlan {
  const algorithm = settings.text('algorithm')
  if (algorithm !== undefined && !algorithms.includes(algorithm))
    settings.refuse('algorithm', `must be one of ${algorithms.join(', ')}`)
  const responseMode = settings.text('responseMode') ?? 'query'
  if (responseMode !== 'query' && responseMode !== 'form_post') {
    settings.refuse('responseMode', 'must be one of query, form_post')
  }
  return {
    ...commonPlan(settings, { displayName: capitalized(settings.name), scope: 'openid email profile' }),
    clientSecret: secretOrAudiences(settings),
    responseMode,
    // Discovery may name other algorithms than the provider uses. The key decides which of them fit.
    algorithms: algorithm === undefined ? algorithms : [algorithm],
    // OpenID Connect Core section 3.1.2.1. A provider without OpenID Connect does not know the parameters.
    freshParameters: settings.address('issuer') === undefined ? {} : { prompt: 'login', max_age: '0' },
    metadata: metadataOf(settings),
    identify: identifyByOpenId,
  }
}

function metadataOf(settings: Settings): ProviderPlan['metadata'] {
  const issuer = settings.address('issuer')
  const [authorization, token, userinfo, keySet] = (['authUri', 'tokenUri', 'userinfoUri', 'jwksUri'] as const).map(
    (setting) => settings.address(setting),
  )
  const isEmpty = authorization === undefined && token === undefined && userinfo === undefined
  if (issuer !== undefined || isEmpty) {
    return {
      issuer: issuer ?? settings.required('issuer'),
      given: { authorization, token, userinfo, keySet },
    }
  }
  if (keySet !== undefined) settings.refuse('jwksUri', 'needs an issuer, which owns the keys')
  if (settings.audiences.length > 0) settings.refuse('audiences', 'need an issuer, which signs the id_tokens')
  return {
    endpoints: {
      authorization: settings.required('authUri'),
      token: settings.required('tokenUri'),
      userinfo: settings.required('userinfoUri'),
    },
    issuers: [],
    announcesIssuer: false,
    keySet: null,
    clientAuthentication: null,
  }
}

function capitalized(name: string): string {
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}`
}
