/** The whole route table. */
import { openApiDocument } from '../dispatch/openapi.ts'
import { ownerPageRoutes } from '../../pages/all-pages.ts'
import type { RouteDeps } from './route-deps.ts'
import type { Route } from '../dispatch/route.ts'
import { activityRoutes } from './actor/activity.ts'
import { actorRoutes } from './actor/actor.ts'
import { approvalRoutes } from './actor/approvals.ts'
import { botRoutes } from './system/bot.ts'
import { appCallbackRoutes, callbackRoutes } from './peers/callbacks.ts'
import { devtestProxyRoutes } from './peers/devtest-proxy.ts'
import { devtestRoutes } from './system/devtest.ts'
import { factoryRoutes } from './sign-in/factory.ts'
import { listRoutes } from './actor/lists.ts'
import { mcpRoutes } from './system/mcp.ts'
import { oauthServerRoutes } from './oauth/authorization-server.ts'
import { wellKnownRoutes } from './oauth/well-known.ts'
import { metaRoutes } from './actor/meta.ts'
import { oauthEmailRoutes } from './sign-in/email.ts'
import { operationRoutes } from './actor/operations.ts'
import { passwordAccessRoutes } from './sign-in/password-access.ts'
import { permissionRoutes } from './peers/permissions.ts'
import { propertyRoutes } from './actor/properties.ts'
import { resourceRoutes } from './actor/resources.ts'
import { sessionRoutes } from './sign-in/session.ts'
import { ownerSessionRoutes } from './sign-in/owner-sessions.ts'
import { signInRoutes } from './sign-in/sign-in.ts'
import { spaRoutes } from '../../spa/sign-in.ts'
import { spaTokenRoutes } from '../../spa/token.ts'
import { singlePageRoutes } from '../../spa/single-page.ts'
import { serviceRoutes } from './sign-in/services.ts'
import { subscriptionRoutes } from './peers/subscriptions.ts'
import { systemRoutes } from './system/system.ts'
import { trustRoutes } from './peers/trust.ts'

/** The route table for the documentation. Its handlers have no deps, so none of them may run. */
export function documentedRoutes(
  facts: Pick<RouteDeps, 'config' | 'identity' | 'baseUrl' | 'registry'>,
): readonly Route[] {
  return routesFor(facts as RouteDeps)
}

export function routesFor(parts: RouteDeps): readonly Route[] {
  let document: string | undefined
  const openApi = (): string => (document ??= JSON.stringify(openApiDocument(routes, parts)))
  const routes: readonly Route[] = [
    ...factoryRoutes(parts),
    ...systemRoutes(parts, openApi),
    ...botRoutes(parts),
    ...(parts.config.mcp ? [...oauthServerRoutes(parts), ...wellKnownRoutes(parts), ...mcpRoutes(parts)] : []),
    ...sessionRoutes(parts),
    ...signInRoutes(parts),
    ...spaRoutes(parts),
    ...oauthEmailRoutes(parts),
    ...spaTokenRoutes(parts),
    ...actorRoutes(parts),
    ...metaRoutes(parts),
    ...activityRoutes(parts),
    ...approvalRoutes(parts),
    ...propertyRoutes(parts),
    ...listRoutes(parts),
    ...operationRoutes(parts),
    ...resourceRoutes(parts),
    ...trustRoutes(parts),
    ...serviceRoutes(parts),
    ...permissionRoutes(parts),
    ...ownerSessionRoutes(parts),
    ...passwordAccessRoutes(parts),
    ...subscriptionRoutes(parts),
    ...callbackRoutes(parts),
    // Where they are off they do not exist, for anybody.
    ...(parts.config.webUi ? ownerPageRoutes(parts) : []),
    ...(parts.config.singlePage === null ? [] : singlePageRoutes(parts)),
    ...(parts.registry.hasAppCallbacks ? appCallbackRoutes(parts) : []),
    ...(parts.config.devtest ? [...devtestRoutes(parts), ...devtestProxyRoutes(parts)] : []),
  ]
  return routes
}
