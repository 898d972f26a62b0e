/** The quotas of all rooms, in the order of the figures. */
import { bytesQuota } from './actor/quotas.ts'
import { keysQuota } from './authorization-server/client-store.ts'
import { fileBytesQuota, filesQuota } from './file/quotas.ts'
import { itemsQuota, namesQuota } from './property/quotas.ts'
import type { Quota } from './quota/quota.ts'
import { subscriptionsQuota } from './subscription/quotas.ts'
import { relationshipsQuota } from './trust/trust-store.ts'
import { webhooksQuota } from './features/webhooks/quotas.ts'

export const allQuotas: readonly Quota[] = [
  bytesQuota,
  namesQuota,
  itemsQuota,
  fileBytesQuota,
  filesQuota,
  relationshipsQuota,
  subscriptionsQuota,
  webhooksQuota,
  keysQuota,
]
