/** The whole route table. */
import { openApiDocument } from './openapi.ts'
import type { Parts } from './parts.ts'
import type { Route } from './route.ts'
import { activityRoutes } from './routes/activity.ts'
import { actorRoutes } from './routes/actor.ts'
import { approvalRoutes } from './routes/approvals.ts'
import { botRoutes } from './routes/bot.ts'
import { appCallbackRoutes, callbackRoutes } from './routes/callbacks.ts'
import { devtestProxyRoutes } from './routes/devtest-proxy.ts'
import { devtestRoutes } from './routes/devtest.ts'
import { factoryRoutes } from './routes/factory.ts'
import { listRoutes } from './routes/lists.ts'
import { liveRoutes } from './routes/live.ts'
import { mcpRoutes } from './routes/mcp.ts'
import { oauthServerRoutes } from './routes/oauth-server.ts'
import { wellKnownRoutes } from './routes/well-known.ts'
import { metaRoutes } from './routes/meta.ts'
import { oauthEmailRoutes } from './routes/oauth-email.ts'
import { operationRoutes } from './routes/operations.ts'
import { passwordAccessRoutes } from './routes/password-access.ts'
import { permissionRoutes } from './routes/permissions.ts'
import { propertyRoutes } from './routes/properties.ts'
import { resourceRoutes } from './routes/resources.ts'
import { sessionRoutes } from './routes/session.ts'
import { ownSessionsRoutes } from './routes/sessions.ts'
import { signInRoutes } from './routes/sign-in.ts'
import { spaRoutes } from './routes/spa.ts'
import { spaTokenRoutes } from './routes/spa-token.ts'
import { singlePageRoutes } from './routes/single-page.ts'
import { serviceRoutes } from './routes/services.ts'
import { subscriptionRoutes } from './routes/subscriptions.ts'
import { systemRoutes } from './routes/system.ts'
import { trustRoutes } from './routes/trust.ts'
import { wwwActivityRoutes } from './routes/www-activity.ts'
import { wwwAppRoutes } from './routes/www-apps.ts'
import { wwwApprovalRoutes } from './routes/www-approvals.ts'
import { wwwPasswordAccessRoutes } from './routes/www-password-access.ts'
import { wwwPropertyRoutes } from './routes/www-properties.ts'
import { wwwSubscriptionRoutes } from './routes/www-subscriptions.ts'
import { wwwTrustRoutes } from './routes/www-trust.ts'
import { wwwRoutes } from './routes/www.ts'

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
