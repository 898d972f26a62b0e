/** Every grant of `/oauth/spa/token`, by its `grant_type`. */
import type { Grant } from './grant.ts'
import { passphrase } from './passphrase.ts'
import { refreshToken } from './refresh-token.ts'

export const grants: ReadonlyMap<string, Grant> = new Map([
  ['refresh_token', refreshToken],
  ['passphrase', passphrase],
])
