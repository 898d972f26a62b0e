/** Google: OpenID Connect, including native applications that present their own id_tokens. */
import { secretOrAudiences } from './client-secret.ts'
import { identifyByOpenId } from './openid-identity.ts'
import { commonPlan, type ProviderPlan } from './provider-config.ts'
import type { ProviderDeclaration, ProviderSettings, Settings } from './settings.ts'

/**
 * Sign-in with Google.
 *
 * @example google({ clientId: '…apps.googleusercontent.com', clientSecret: '…' })
 * @public
 */
export function google(settings: ProviderSettings = {}): ProviderDeclaration {
  return { type: 'google', name: settings.name ?? 'google', settings }
}

export function googlePlan(settings: Settings): ProviderPlan {
  return {
    ...commonPlan(settings, { displayName: 'Google', scope: 'openid email profile' }),
    clientSecret: secretOrAudiences(settings),
    // Google sends a refresh token only with both parameters.
    authorizationParameters: { access_type: 'offline', prompt: 'consent', ...settings.authorizationParameters },
    metadata: {
      endpoints: {
        authorization: settings.address('authUri') ?? 'https://accounts.google.com/o/oauth2/v2/auth',
        token: settings.address('tokenUri') ?? 'https://oauth2.googleapis.com/token',
        userinfo: settings.address('userinfoUri') ?? 'https://www.googleapis.com/oauth2/v2/userinfo',
      },
      issuers: ['https://accounts.google.com', 'accounts.google.com'],
      announcesIssuer: false,
      keySet: settings.address('jwksUri') ?? 'https://www.googleapis.com/oauth2/v3/certs',
      clientAuthentication: null,
    },
    identify: identifyByOpenId,
  }
}
