/** The authorization server: clients register, owners authorize them, clients get tokens. */
import type { Route } from '../../dispatch/route.ts'
import { type AuthorizeRouteDeps, authorizeRoutes } from './authorize.ts'
import { type ClientTokenRouteDeps, clientTokenRoutes } from './client-token.ts'
import { type ConsentRouteDeps, consentRoutes } from './consent.ts'
import { type DeviceRouteDeps, deviceRoutes } from './device.ts'
import { type RegistrationRouteDeps, registrationRoutes } from './registration.ts'
import { type RevocationRouteDeps, revocationRoutes } from './revocation.ts'

export type AuthorizationServerRouteDeps = AuthorizeRouteDeps &
  ClientTokenRouteDeps &
  ConsentRouteDeps &
  DeviceRouteDeps &
  RegistrationRouteDeps &
  RevocationRouteDeps

export function oauthServerRoutes(deps: AuthorizationServerRouteDeps): readonly Route[] {
  return [
    ...registrationRoutes(deps),
    ...authorizeRoutes(deps),
    ...consentRoutes(deps),
    ...deviceRoutes(deps),
    ...clientTokenRoutes(deps),
    ...revocationRoutes(deps),
  ]
}
