/** Tries webhooks to private addresses (SSRF), for `troupe doctor`. */
import type { OutsideCheck } from '../feature.ts'

export const webhookCheck: OutsideCheck = {
  name: 'webhooks',
  run: async ({ send, privateHosts, advice }) => {
    const accepted: string[] = []
    for (const host of privateHosts) {
      const webhook = { url: `https://${host}/troupe-doctor`, events: ['property_changed'] }
      const { status, body } = await send('POST', '/webhooks', webhook)
      if (status >= 300 || typeof body['id'] !== 'string') continue
      accepted.push(host)
      await send('DELETE', `/webhooks/${encodeURIComponent(body['id'])}`)
    }
    return accepted.length === 0
      ? { reason: 'A webhook cannot have a private address.' }
      : { reason: `A webhook may have the address ${accepted.join(', ')}.`, fix: advice }
  },
}
