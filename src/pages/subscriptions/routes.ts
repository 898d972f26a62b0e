/** `/<actor>/www/subscriptions`: who listens to whom, on pages. */
import type { Route } from '../../http/dispatch/route.ts'
import { formResponses, formSchema, pageResponses } from '../../http/dispatch/schemas.ts'
import {
  changeSubscription,
  type SubscriptionPageDeps,
  showSubscription,
  showSubscriptions,
} from './subscription-pages.ts'

const page = { page: 'Which part, from 1' }

export function subscriptionPageRoutes(deps: SubscriptionPageDeps): readonly Route[] {
  return [
    {
      id: 'subscriptionsPage',
      method: 'GET',
      path: '/:actor/www/subscriptions',
      access: 'www',
      summary: 'Who listens to the actor, and to whom it listens',
      query: page,
      responses: pageResponses,
      handler: (exchange) => showSubscriptions(deps, exchange),
    },
    {
      id: 'subscriptionPage',
      method: 'GET',
      path: '/:actor/www/subscriptions/:peerid/:subscription',
      access: 'www',
      summary: 'A subscription, and what became of each of its numbers',
      query: page,
      responses: pageResponses,
      handler: (exchange) => showSubscription(deps, exchange),
    },
    {
      id: 'subscriptionForm',
      method: 'POST',
      path: '/:actor/www/subscriptions/:peerid/:subscription',
      access: 'www',
      summary: 'Ends the subscription, or sends again what failed for good',
      request: formSchema('action'),
      responses: formResponses,
      handler: (exchange) => changeSubscription(deps, exchange),
    },
  ]
}
