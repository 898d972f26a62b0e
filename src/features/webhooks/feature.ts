import { builtInFeature } from '../feature.ts'
import { webhookOwnActs } from './acts.ts'
import { webhookCheck } from './check.ts'
import { createWebhooks } from './create.ts'
import { webhooksHandle } from './handle.ts'
import { webhookOptions } from './options.ts'
import { webhookRoutes } from './routes.ts'
import { webhookTable } from './tables.ts'

/** URLs that receive the changes of an actor. */
export const webhooks = builtInFeature({
  name: 'webhooks',
  tables: [webhookTable],
  options: webhookOptions,
  acts: webhookOwnActs,
  checks: [webhookCheck],
  start: (core) => {
    const parts = createWebhooks(core, { client: core.outsideClient })
    return {
      parts,
      changeSink: parts.webhooks.sink,
      workers: [parts.worker],
      handle: { webhooks: ({ actor }) => webhooksHandle(parts.webhooks, actor.id) },
    }
  },
  routes: (_facts, parts) =>
    webhookRoutes({
      get webhooks() {
        return parts().webhooks
      },
      get webhookActs() {
        return parts().webhookActs
      },
    }),
})
