/** Subscriptions in both directions. */
import type { PageGroup } from '../shared/page-group.ts'
import { subscriptionPageRoutes } from './routes.ts'
import { subscriptionsPage } from './list-view.ts'
import { subscriptionStyle } from './style.ts'
import { subscriptionPage } from './subscription-view.ts'

export const subscriptions = {
  section: { path: '/subscriptions', label: 'subscriptions', icon: 'subscriptions', count: 'failing' },
  pages: [
    { name: 'subscriptions', template: 'aw-actor-www-subscriptions.html', view: subscriptionsPage },
    { name: 'subscription', template: 'aw-actor-www-subscription.html', view: subscriptionPage },
  ],
  styles: [subscriptionStyle],
  routes: subscriptionPageRoutes,
} as const satisfies PageGroup
