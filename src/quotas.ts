/** The quotas of the core and of features, in the order of the figures. */
import { bytesQuota } from './actor/quotas.ts'
import { keysQuota } from './authorization-server/client-store.ts'
import { itemsQuota, namesQuota } from './property/quotas.ts'
import type { Quota } from './quota/quota.ts'
import type { Table } from './table/table.ts'
import { subscriptionsQuota } from './subscription/quotas.ts'
import { relationshipsQuota } from './trust/trust-store.ts'

export function quotasWith(tables: readonly Table[]): readonly Quota[] {
  return [
    ...contentQuotasWith(tables),
    relationshipsQuota,
    subscriptionsQuota,
    ...tables.filter((table) => !hasContent(table)).flatMap(({ quotas = [] }) => quotas),
    keysQuota,
  ]
}

/** The quotas of what a replacement of the content of an actor replaces. */
export function contentQuotasWith(tables: readonly Table[]): readonly Quota[] {
  return [bytesQuota, namesQuota, itemsQuota, ...tables.filter(hasContent).flatMap(({ quotas = [] }) => quotas)]
}

function hasContent({ records }: Table): boolean {
  return records?.content !== undefined
}
