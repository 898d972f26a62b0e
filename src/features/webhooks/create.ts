import { workerDeps } from '../../job/create.ts'
import { JobWorker } from '../../job/worker.ts'
import type { PeerClient } from '../../peer/peer-client.ts'
import type { Runtime } from '../../runtime.ts'
import { SignInAge } from '../../permission/sign-in-age.ts'
import { WebhookActs } from './acts.ts'
import { WebhookSender } from './sender.ts'
import { Webhooks } from './webhooks.ts'

const dayMs = 86_400_000

interface WebhookNeeds {
  /** Calls hosts that are not actors. */
  readonly client: PeerClient
}

export function createWebhooks(runtime: Runtime, { client }: WebhookNeeds) {
  const { config } = runtime
  const sender = new WebhookSender({
    ...runtime,
    client,
    policy: {
      retryUnknown: true,
      circuitThreshold: config.circuitThreshold,
      circuitCooldownMs: config.circuitCooldownSeconds * 1000,
      giveUpAfterMs: config.maxDiffAgeDays * dayMs,
    },
  })
  const worker = new JobWorker(workerDeps(runtime), sender.jobQueue)
  const webhooks = new Webhooks({
    ...runtime,
    policy: { allowPrivatePeers: config.allowPrivatePeers, allowHttp: config.allowHttp },
    maxWaiting: config.maxDiffs,
    wake: worker.wake,
  })
  return { webhooks, worker, webhookActs: new WebhookActs({ webhooks, signInAge: new SignInAge(runtime) }) }
}
