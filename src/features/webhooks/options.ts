import { optionKinds } from '../../config/option.ts'

export const webhookOptions = {
  maxWebhooks: optionKinds.integer({
    env: 'TROUPE_MAX_WEBHOOKS',
    min: 0,
    max: 1000,
    byDefault: 20,
    text: 'Maximum number of webhooks of an actor; a further one returns 507. 0: no webhooks.',
  }),
} as const
