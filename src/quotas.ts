/** The quotas of the core and of features, in the order of the figures. */
import { bytesQuota } from './actor/quotas.ts'
import { keysQuota } from './authorization-server/client-store.ts'
import { fileBytesQuota, filesQuota } from './features/files/quotas.ts'
import { itemsQuota, namesQuota } from './property/quotas.ts'
import type { Quota } from './quota/quota.ts'
import type { Table } from './table/table.ts'
import { subscriptionsQuota } from './subscription/quotas.ts'
import { relationshipsQuota } from './trust/trust-store.ts'

export function quotasWith(tables: readonly Table[]): readonly Quota[] {
  return [
    bytesQuota,
    namesQuota,
    itemsQuota,
    fileBytesQuota,
    filesQuota,
    relationshipsQuota,
    subscriptionsQuota,
    ...tables.flatMap(({ quota }) => (quota === undefined ? [] : [quota])),
    keysQuota,
  ]
}
