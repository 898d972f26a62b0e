/** The handle by which applications read the sign-in of an owner. */
import { present } from '../json/present.ts'
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
      return present({
        accessToken: oauth_token,
        expiresAt: dateOf(oauth_token_expiry),
        refreshToken: oauth_refresh_token,
      })
    },
  }
}

function signInOf({ identifier, verified, fields }: Account): Awaited<ReturnType<SignInHandle['get']>> {
  const { oauth_provider: provider, auth_method: authMethod, email, created_at: createdAt } = fields
  return present({
    identifier,
    emailVerified: email !== undefined && (fields['email_verified'] ?? 'true') === 'true',
    isProven: verified,
    provider,
    authMethod,
    email,
    createdAt: dateOf(createdAt),
    fields,
  })
}

function dateOf(unixSeconds: string | undefined): Date | undefined {
  return unixSeconds === undefined ? undefined : new Date(Number(unixSeconds) * 1000)
}
