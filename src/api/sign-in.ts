/** The sign-in of an actor's owner, as applications see it. */
import type { SignInHandle } from '../app/actor-handle.ts'
import type { Account } from '../sign-in/account-store.ts'
import type { Accounts } from '../sign-in/accounts.ts'

export function signInHandle(accounts: Accounts, actorId: string): SignInHandle {
  return {
    async get() {
      const account = await accounts.find(actorId)
      return account === null ? undefined : signInOf(account)
    },
    async providerTokens() {
      const account = await accounts.find(actorId)
      if (account === null) return undefined
      const { oauth_token, oauth_token_expiry, oauth_refresh_token } = accounts.providerTokensOf(account)
      return {
        ...(oauth_token === undefined ? {} : { accessToken: oauth_token }),
        ...(oauth_token_expiry === undefined ? {} : { expiresAt: new Date(Number(oauth_token_expiry) * 1000) }),
        ...(oauth_refresh_token === undefined ? {} : { refreshToken: oauth_refresh_token }),
      }
    },
  }
}

function signInOf({ identifier, verified, fields }: Account): Awaited<ReturnType<SignInHandle['get']>> {
  const { oauth_provider: provider, auth_method: authMethod, email, created_at: createdAt } = fields
  return {
    identifier,
    emailVerified: email !== undefined && (fields['email_verified'] ?? 'true') === 'true',
    isProven: verified,
    ...(provider === undefined ? {} : { provider }),
    ...(authMethod === undefined ? {} : { authMethod }),
    ...(email === undefined ? {} : { email }),
    ...(createdAt === undefined ? {} : { createdAt: new Date(Number(createdAt) * 1000) }),
    fields,
  }
}
