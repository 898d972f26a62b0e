/** The whole route table. */
import { openApiDocument } from '../dispatch/openapi.ts'
import { ownerPageRoutes } from '../../pages/all-pages.ts'
import { operatorRoutes } from '../../pages/operator/routes.ts'
import type { Route } from '../dispatch/route.ts'
import type { Runtime } from '../../runtime.ts'
import { activityRoutes } from './actor/activity.ts'
import { archiveRoutes } from './archive/archive.ts'
import { historyRoutes } from './history/history.ts'
import { moveRoutes } from './moves/services.ts'
import { moveClaimApiRoutes } from './moves/claim-api.ts'
import { moveClaimRoutes } from './moves/claim.ts'
import { ownerMoveRoutes } from './moves/owner.ts'
import { appRoutes } from './oauth/apps.ts'
import { actorRoutes } from './actor/actor.ts'
import { approvalRoutes } from './actor/approvals.ts'
import { botRoutes } from './system/bot.ts'
import { appCallbackRoutes, callbackRoutes } from './peers/callbacks.ts'
import { devtestProxyRoutes } from './peers/devtest-proxy.ts'
import { devtestRoutes } from './system/devtest.ts'
import { factoryRoutes } from './sign-in/factory.ts'
import { fileRoutes } from './files/files.ts'
import { listRoutes } from './actor/lists.ts'
import { liveRoutes } from './actor/live.ts'
import { mcpRoutes } from './system/mcp.ts'
import { oauthServerRoutes } from './oauth/authorization-server.ts'
import { keyRoutes } from './oauth/keys.ts'
import { wellKnownRoutes } from './oauth/well-known.ts'
import { metaRoutes } from './actor/meta.ts'
import { oauthEmailRoutes } from './sign-in/email.ts'
import { emailLinkRoutes } from './sign-in/email-link.ts'
import { passkeyRoutes } from './sign-in/passkey.ts'
import { operationRoutes } from './actor/operations.ts'
import { passwordAccessRoutes } from './sign-in/password-access.ts'
import { permissionRoutes } from './peers/permissions.ts'
import { propertyRoutes } from './actor/properties.ts'
import { remoteRoutes } from './peers/remote.ts'
import { resourceRoutes } from './actor/resources.ts'
import { sessionRoutes } from './sign-in/session.ts'
import { ownerSessionRoutes } from './sign-in/owner-sessions.ts'
import { signInRoutes } from './sign-in/sign-in.ts'
import { spaRoutes } from '../../spa/sign-in.ts'
import { spaTokenRoutes } from '../../spa/token.ts'
import { singlePageRoutes } from '../../spa/single-page.ts'
import { serviceRoutes } from './sign-in/services.ts'
import { subscriptionRoutes } from './peers/subscriptions.ts'
import { referenceRoutes } from './system/reference.ts'
import { systemRoutes } from './system/system.ts'
import { invitationRoutes } from './invitations/invitations.ts'
import { trustRoutes } from './peers/trust.ts'
import { webhookRoutes } from '../../features/webhooks/routes.ts'

/** The dependencies of all route handlers. */
export type RouteDeps = Pick<Runtime, 'config' | 'registry' | 'identity' | 'baseUrl'> &
  Parameters<typeof factoryRoutes>[0] &
  Parameters<typeof systemRoutes>[0] &
  Parameters<typeof referenceRoutes>[0] &
  Parameters<typeof botRoutes>[0] &
  Parameters<typeof oauthServerRoutes>[0] &
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
  Parameters<typeof fileRoutes>[0] &
  Parameters<typeof operationRoutes>[0] &
  Parameters<typeof resourceRoutes>[0] &
  Parameters<typeof trustRoutes>[0] &
  Parameters<typeof invitationRoutes>[0] &
  Parameters<typeof serviceRoutes>[0] &
  Parameters<typeof permissionRoutes>[0] &
  Parameters<typeof ownerSessionRoutes>[0] &
  Parameters<typeof passwordAccessRoutes>[0] &
  Parameters<typeof subscriptionRoutes>[0] &
  Parameters<typeof remoteRoutes>[0] &
  Parameters<typeof callbackRoutes>[0] &
  Parameters<typeof webhookRoutes>[0] &
  Parameters<typeof ownerPageRoutes>[0] &
  Parameters<typeof operatorRoutes>[0] &
  Parameters<typeof singlePageRoutes>[0] &
  Parameters<typeof appCallbackRoutes>[0] &
  Parameters<typeof devtestRoutes>[0] &
  Parameters<typeof devtestProxyRoutes>[0]

/** The route table for the documentation. Its handlers have no deps, so none of them may run. */
export function documentedRoutes(
  facts: Pick<RouteDeps, 'config' | 'identity' | 'baseUrl' | 'registry'>,
): readonly Route[] {
  return routesFor(facts as RouteDeps)
}

export function routesFor(deps: RouteDeps): readonly Route[] {
  let document: string | undefined
  const openApi = (): string => (document ??= JSON.stringify(openApiDocument(routes, deps)))
  const routes: readonly Route[] = [
    ...factoryRoutes(deps),
    ...systemRoutes(deps, openApi),
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
    ...fileRoutes(deps),
    ...operationRoutes(deps),
    ...resourceRoutes(deps),
    ...trustRoutes(deps),
    ...invitationRoutes(deps),
    ...serviceRoutes(deps),
    ...permissionRoutes(deps),
    ...ownerSessionRoutes(deps),
    ...passwordAccessRoutes(deps),
    ...subscriptionRoutes(deps),
    ...remoteRoutes(deps),
    ...callbackRoutes(deps),
    ...webhookRoutes(deps),
    // With the pages turned off, their URLs are 404 for every client.
    ...(deps.config.webUi ? ownerPageRoutes(deps) : []),
    ...(deps.config.webUi && deps.config.admins.length > 0 ? operatorRoutes(deps) : []),
    ...(deps.config.singlePage === null ? [] : singlePageRoutes(deps)),
    ...(deps.registry.hasAppCallbacks ? appCallbackRoutes(deps) : []),
    ...(deps.config.devtest ? [...devtestRoutes(deps), ...devtestProxyRoutes(deps)] : []),
  ]
  return routes
}
