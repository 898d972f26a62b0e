/** `/<actor>/www/subscriptions`: who listens to whom, on pages. */
import type { Route } from '../../http/dispatch/route.ts'
import { formResponses, formSchema, pageResponses } from '../../http/dispatch/schemas.ts'
import { changeSubscription, showSubscription, showSubscriptions } from './subscription-pages.ts'

const page = { page: 'Which part, from 1' }

export const wwwSubscriptionRoutes: readonly Route[] = [
  {
    id: 'subscriptionsPage',
    method: 'GET',
    path: '/:actor/www/subscriptions',
    access: 'www',
    summary: 'Who listens to the actor, and to whom it listens',
    query: page,
    responses: pageResponses,
    handler: showSubscriptions,
  },
  {
    id: 'subscriptionPage',
    method: 'GET',
    path: '/:actor/www/subscriptions/:peerid/:subscription',
    access: 'www',
    summary: 'A subscription, and what became of each of its numbers',
    query: page,
    responses: pageResponses,
    handler: (exchange) => showSubscription(exchange),
  },
  {
    id: 'subscriptionForm',
    method: 'POST',
    path: '/:actor/www/subscriptions/:peerid/:subscription',
    access: 'www',
    summary: 'Ends the subscription, or sends again what failed for good',
    request: formSchema('action'),
    responses: formResponses,
    handler: changeSubscription,
  },
]
