/** The whole route table. */
import { openApiDocument } from '../dispatch/openapi.ts'
import type { Parts } from '../dispatch/parts.ts'
import type { Route } from '../dispatch/route.ts'
import { activityRoutes } from './activity.ts'
import { actorRoutes } from './actor.ts'
import { approvalRoutes } from './approvals.ts'
import { botRoutes } from './bot.ts'
import { appCallbackRoutes, callbackRoutes } from './callbacks.ts'
import { devtestProxyRoutes } from './devtest-proxy.ts'
import { devtestRoutes } from './devtest.ts'
import { factoryRoutes } from './factory.ts'
import { listRoutes } from './lists.ts'
import { liveRoutes } from '../../pages/live/live-routes.ts'
import { mcpRoutes } from './mcp.ts'
import { oauthServerRoutes } from './oauth/authorization-server.ts'
import { wellKnownRoutes } from './oauth/well-known.ts'
import { metaRoutes } from './meta.ts'
import { oauthEmailRoutes } from './oauth/email.ts'
import { operationRoutes } from './operations.ts'
import { passwordAccessRoutes } from './password-access.ts'
import { permissionRoutes } from './permissions.ts'
import { propertyRoutes } from './properties.ts'
import { resourceRoutes } from './resources.ts'
import { sessionRoutes } from './oauth/session.ts'
import { ownSessionsRoutes } from './sessions.ts'
import { signInRoutes } from './oauth/sign-in.ts'
import { spaRoutes } from '../../spa/sign-in.ts'
import { spaTokenRoutes } from '../../spa/token.ts'
import { singlePageRoutes } from '../../spa/single-page.ts'
import { serviceRoutes } from './services.ts'
import { subscriptionRoutes } from './subscriptions.ts'
import { systemRoutes } from './system.ts'
import { trustRoutes } from './trust.ts'
import { wwwActivityRoutes } from '../../pages/activity/routes.ts'
import { wwwAppRoutes } from '../../pages/apps/routes.ts'
import { wwwApprovalRoutes } from '../../pages/approvals/routes.ts'
import { wwwPasswordAccessRoutes } from '../../pages/password-access/routes.ts'
import { wwwPropertyRoutes } from '../../pages/properties/routes.ts'
import { wwwSubscriptionRoutes } from '../../pages/subscriptions/routes.ts'
import { wwwTrustRoutes } from '../../pages/relationships/routes.ts'
import { wwwRoutes } from '../../pages/home/routes.ts'

export function routesFor(parts: Pick<Parts, 'config' | 'identity' | 'baseUrl' | 'registry'>): readonly Route[] {
  let document: string | undefined
  const openApi = (): string => (document ??= JSON.stringify(openApiDocument(routes, parts)))
  const routes: readonly Route[] = [
    ...factoryRoutes,
    ...systemRoutes(openApi),
    ...botRoutes,
    ...(parts.config.mcp ? [...oauthServerRoutes, ...wellKnownRoutes, ...mcpRoutes] : []),
    ...sessionRoutes,
    ...signInRoutes,
    ...spaRoutes,
    ...oauthEmailRoutes,
    ...spaTokenRoutes,
    ...actorRoutes,
    ...metaRoutes,
    ...activityRoutes,
    ...approvalRoutes,
    ...propertyRoutes,
    ...listRoutes,
    ...operationRoutes,
    ...resourceRoutes,
    ...trustRoutes,
    ...serviceRoutes,
    ...permissionRoutes,
    ...ownSessionsRoutes,
    ...passwordAccessRoutes,
    ...subscriptionRoutes,
    ...callbackRoutes,
    // Where they are off they do not exist, for anybody.
    ...(parts.config.webUi
      ? [
          ...wwwRoutes,
          ...wwwPropertyRoutes,
          ...wwwTrustRoutes,
          ...wwwSubscriptionRoutes,
          ...wwwAppRoutes,
          ...wwwApprovalRoutes,
          ...wwwPasswordAccessRoutes,
          ...wwwActivityRoutes,
          ...liveRoutes,
        ]
      : []),
    ...(parts.config.singlePage === null ? [] : singlePageRoutes),
    ...(parts.registry.hasAppCallbacks ? appCallbackRoutes : []),
    ...(parts.config.devtest ? [...devtestRoutes, ...devtestProxyRoutes] : []),
  ]
  return routes
}
