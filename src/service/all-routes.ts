/** The route table, with the routes of features. */
import { openApiDocument } from '../http/dispatch/openapi.ts'
import { ownerPageRoutes } from '../pages/all-pages.ts'
import { operatorRoutes } from '../pages/operator/routes.ts'
import type { Route } from '../http/dispatch/route.ts'
import type { RouteFacts } from '../features/feature.ts'
import { activityRoutes } from '../http/routes/actor/activity.ts'
import { archiveRoutes } from '../http/routes/archive/archive.ts'
import { historyRoutes } from '../http/routes/history/history.ts'
import { moveRoutes } from '../http/routes/moves/services.ts'
import { moveClaimApiRoutes } from '../http/routes/moves/claim-api.ts'
import { moveClaimRoutes } from '../pages/moving/claim.ts'
import { ownerMoveRoutes } from '../http/routes/moves/owner.ts'
import { appRoutes } from '../http/routes/oauth/apps.ts'
import { actorRoutes } from '../http/routes/actor/actor.ts'
import { approvalRoutes } from '../http/routes/actor/approvals.ts'
import { botRoutes } from '../http/routes/system/bot.ts'
import { appCallbackRoutes, callbackRoutes } from '../http/routes/peers/callbacks.ts'
import { devtestProxyRoutes } from '../http/routes/peers/devtest-proxy.ts'
import { devtestRoutes } from '../http/routes/system/devtest.ts'
import { factoryRoutes } from '../pages/sign-in/routes/factory.ts'
import { listRoutes } from '../http/routes/actor/lists.ts'
import { liveRoutes } from '../http/routes/actor/live.ts'
import { mcpRoutes } from '../http/routes/system/mcp.ts'
import { clientTokenRoutes } from '../http/routes/oauth/client-token.ts'
import { registrationRoutes } from '../http/routes/oauth/registration.ts'
import { revocationRoutes } from '../http/routes/oauth/revocation.ts'
import { assetRoutes } from '../pages/assets/routes.ts'
import { authorizeRoutes } from '../pages/consent/authorize.ts'
import { consentRoutes } from '../pages/consent/consent.ts'
import { deviceRoutes } from '../pages/consent/device.ts'
import { keyRoutes } from '../http/routes/oauth/keys.ts'
import { wellKnownRoutes } from '../http/routes/oauth/well-known.ts'
import { metaRoutes } from '../http/routes/actor/meta.ts'
import { oauthEmailRoutes } from '../pages/sign-in/routes/email.ts'
import { emailLinkRoutes } from '../pages/sign-in/routes/email-link.ts'
import { passkeyRoutes } from '../pages/sign-in/routes/passkey.ts'
import { operationRoutes } from '../http/routes/actor/operations.ts'
import { passwordAccessRoutes } from '../http/routes/sign-in/password-access.ts'
import { permissionRoutes } from '../http/routes/peers/permissions.ts'
import { propertyRoutes } from '../http/routes/actor/properties.ts'
import { remoteRoutes } from '../http/routes/peers/remote.ts'
import { resourceRoutes } from '../http/routes/actor/resources.ts'
import { sessionRoutes } from '../pages/sign-in/routes/session.ts'
import { ownerSessionRoutes } from '../http/routes/sign-in/owner-sessions.ts'
import { signInRoutes } from '../pages/sign-in/routes/sign-in.ts'
import { spaRoutes } from '../spa/sign-in.ts'
import { spaTokenRoutes } from '../spa/token.ts'
import { singlePageRoutes } from '../spa/single-page.ts'
import { serviceRoutes } from '../http/routes/sign-in/services.ts'
import { subscriptionRoutes } from '../http/routes/peers/subscriptions.ts'
import { referenceRoutes } from '../pages/reference/routes.ts'
import { systemRoutes } from '../http/routes/system/system.ts'
import { trustRoutes } from '../http/routes/peers/trust.ts'

/** The dependencies of all route handlers. */
export type RouteDeps = RouteFacts &
  Parameters<typeof factoryRoutes>[0] &
  Parameters<typeof systemRoutes>[0] &
  Parameters<typeof referenceRoutes>[0] &
  Parameters<typeof botRoutes>[0] &
  Parameters<typeof assetRoutes>[0] &
  Parameters<typeof registrationRoutes>[0] &
  Parameters<typeof authorizeRoutes>[0] &
  Parameters<typeof consentRoutes>[0] &
  Parameters<typeof deviceRoutes>[0] &
  Parameters<typeof clientTokenRoutes>[0] &
  Parameters<typeof revocationRoutes>[0] &
  Parameters<typeof wellKnownRoutes>[0] &
  Parameters<typeof mcpRoutes>[0] &
  Parameters<typeof sessionRoutes>[0] &
  Parameters<typeof signInRoutes>[0] &
  Parameters<typeof spaRoutes>[0] &
  Parameters<typeof oauthEmailRoutes>[0] &
  Parameters<typeof passkeyRoutes>[0] &
  Parameters<typeof emailLinkRoutes>[0] &
  Parameters<typeof spaTokenRoutes>[0] &
  Parameters<typeof actorRoutes>[0] &
  Parameters<typeof metaRoutes>[0] &
  Parameters<typeof activityRoutes>[0] &
  Parameters<typeof historyRoutes>[0] &
  Parameters<typeof archiveRoutes>[0] &
  Parameters<typeof moveRoutes>[0] &
  Parameters<typeof ownerMoveRoutes>[0] &
  Parameters<typeof moveClaimApiRoutes>[0] &
  Parameters<typeof moveClaimRoutes>[0] &
  Parameters<typeof appRoutes>[0] &
  Parameters<typeof approvalRoutes>[0] &
  Parameters<typeof liveRoutes>[0] &
  Parameters<typeof keyRoutes>[0] &
  Parameters<typeof propertyRoutes>[0] &
  Parameters<typeof listRoutes>[0] &
  Parameters<typeof operationRoutes>[0] &
  Parameters<typeof resourceRoutes>[0] &
  Parameters<typeof trustRoutes>[0] &
  Parameters<typeof serviceRoutes>[0] &
  Parameters<typeof permissionRoutes>[0] &
  Parameters<typeof ownerSessionRoutes>[0] &
  Parameters<typeof passwordAccessRoutes>[0] &
  Parameters<typeof subscriptionRoutes>[0] &
  Parameters<typeof remoteRoutes>[0] &
  Parameters<typeof callbackRoutes>[0] &
  Parameters<typeof ownerPageRoutes>[0] &
  Parameters<typeof operatorRoutes>[0] &
  Parameters<typeof singlePageRoutes>[0] &
  Parameters<typeof appCallbackRoutes>[0] &
  Parameters<typeof devtestRoutes>[0] &
  Parameters<typeof devtestProxyRoutes>[0]

/** The route table for documents. Its handlers have no deps, so none of them may run. */
export function documentedCoreRoutes(facts: RouteFacts, ofFeatures: readonly Route[]): readonly Route[] {
  return routesFor(facts as RouteDeps, ofFeatures)
}

/** The authorization server: clients register, owners authorize them, clients get tokens. */
function oauthServerRoutes(deps: RouteDeps): readonly Route[] {
  return [
    ...registrationRoutes(deps),
    ...authorizeRoutes(deps),
    ...consentRoutes(deps),
    ...deviceRoutes(deps),
    ...clientTokenRoutes(deps),
    ...revocationRoutes(deps),
  ]
}

export function routesFor(deps: RouteDeps, ofFeatures: readonly Route[]): readonly Route[] {
  let document: string | undefined
  const openApi = (): string => (document ??= JSON.stringify(openApiDocument(routes, deps)))
  const routes: readonly Route[] = [
    ...factoryRoutes(deps),
    ...systemRoutes(deps, openApi),
    ...assetRoutes(deps),
    ...(deps.config.webUi ? referenceRoutes(deps, openApi) : []),
    ...botRoutes(deps),
    ...(deps.config.mcp ? [...oauthServerRoutes(deps), ...wellKnownRoutes(deps), ...mcpRoutes(deps)] : []),
    ...sessionRoutes(deps),
    ...signInRoutes(deps),
    ...spaRoutes(deps),
    ...oauthEmailRoutes(deps),
    ...passkeyRoutes(deps),
    ...emailLinkRoutes(deps),
    ...spaTokenRoutes(deps),
    ...actorRoutes(deps),
    ...metaRoutes(deps),
    ...activityRoutes(deps),
    ...historyRoutes(deps),
    ...archiveRoutes(deps),
    ...moveRoutes(deps),
    ...ownerMoveRoutes(deps),
    ...(deps.config.webUi ? moveClaimRoutes(deps) : []),
    ...moveClaimApiRoutes(deps),
    ...appRoutes(deps),
    ...approvalRoutes(deps),
    ...liveRoutes(deps),
    ...keyRoutes(deps),
    ...propertyRoutes(deps),
    ...listRoutes(deps),
    ...operationRoutes(deps),
    ...resourceRoutes(deps),
    ...trustRoutes(deps),
    ...serviceRoutes(deps),
    ...permissionRoutes(deps),
    ...ownerSessionRoutes(deps),
    ...passwordAccessRoutes(deps),
    ...subscriptionRoutes(deps),
    ...remoteRoutes(deps),
    ...callbackRoutes(deps),
    ...ofFeatures,
    // With the pages turned off, their URLs are 404 for every client.
    ...(deps.config.webUi ? ownerPageRoutes(deps) : []),
    ...(deps.config.webUi ? operatorRoutes(deps) : []),
    ...(deps.config.singlePage === null ? [] : singlePageRoutes(deps)),
    ...(deps.registry.hasAppCallbacks ? appCallbackRoutes(deps) : []),
    ...(deps.config.devtest ? [...devtestRoutes(deps), ...devtestProxyRoutes(deps)] : []),
  ]
  return routes
}
