/** Subscriptions in both directions. */
import type { PageGroup } from '../shared/page-group.ts'
import { subscriptionsPage } from './list-view.ts'
import { subscriptionStyle } from './style.ts'
import { subscriptionPage } from './subscription-view.ts'
import { pageForm } from '../../http/dispatch/request-body.ts'
import { defineRoute } from '../../http/dispatch/define-route.ts'
import { partQuery } from '../shared/paging.ts'
import { timelineQuery } from './timeline.ts'
import type { Route } from '../../http/dispatch/route.ts'
import { formResponses, pageResponses } from '../../http/dispatch/schemas.ts'
import {
  changeSubscription,
  showSubscription,
  showSubscriptions,
  type SubscriptionPageDeps,
} from './subscription-pages.ts'

function subscriptionPageRoutes(deps: SubscriptionPageDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'subscriptionsPage',
      method: 'GET',
      path: '/:actor/www/subscriptions',
      access: 'www',
      summary: 'Who listens to the actor, and to whom it listens',
      query: partQuery,
      responses: pageResponses,
      handler: (exchange) => showSubscriptions(deps, exchange),
    }),
    defineRoute({
      id: 'subscriptionPage',
      method: 'GET',
      path: '/:actor/www/subscriptions/:peerid/:subscription',
      access: 'www',
      summary: 'A subscription, with the outcome of each sequence number',
      query: timelineQuery,
      responses: pageResponses,
      handler: (exchange) => showSubscription(deps, exchange),
    }),
    defineRoute({
      id: 'subscriptionForm',
      method: 'POST',
      path: '/:actor/www/subscriptions/:peerid/:subscription',
      access: 'www',
      summary: 'Ends the subscription, or sends again what failed for good',
      query: timelineQuery,
      request: pageForm('action'),
      responses: formResponses,
      handler: (exchange) => changeSubscription(deps, exchange),
    }),
  ]
}

export const subscriptions = {
  section: { path: '/subscriptions', label: 'subscriptions', icon: 'subscriptions', count: 'failing' },
  pages: [
    { name: 'subscriptions', template: 'aw-actor-www-subscriptions.html', view: subscriptionsPage },
    { name: 'subscription', template: 'aw-actor-www-subscription.html', view: subscriptionPage },
  ],
  styles: [subscriptionStyle],
  routes: subscriptionPageRoutes,
} as const satisfies PageGroup
