/** The declared rights of all trust types, as peers last received them. A new deployment may declare others. */
import { canonical } from '../json/canonical.ts'
import type { Queries, Store, Transaction } from '../store/store.ts'
import type { EffectiveRules } from './rules.ts'
import { type TrustType, TrustTypes } from './trust-types.ts'

/** The rules by the name of the trust type. */
export type TypeRules = Readonly<Record<string, EffectiveRules>>

const setting = 'trust_types'

export async function findTypeRules(q: Pick<Queries, 'get'>): Promise<TypeRules | null> {
  const row = await q.get<{ value: string }>('SELECT value FROM setting WHERE name = $1', setting)
  return row === undefined ? null : (JSON.parse(row.value) as TypeRules)
}

export async function putTypeRules(tx: Transaction, rules: TypeRules): Promise<void> {
  await putSetting(tx, setting, rules)
}

async function putSetting(tx: Transaction, name: string, rules: TypeRules): Promise<void> {
  await tx.run(
    'INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
    name,
    JSON.stringify(rules),
  )
}

/** Rules that the peers of a suspended actor received last, and that differ from those of a later deployment. */
export interface OwedRules {
  readonly actorId: string
  readonly before: TypeRules
}

export async function findOwedRules(q: Pick<Queries, 'all'>): Promise<readonly OwedRules[]> {
  const rows = await q.all<{ name: string; value: string }>(
    '/* rights */ SELECT name, value FROM setting WHERE name LIKE $1',
    `${setting} %`,
  )
  return rows.map(({ name, value }) => ({
    actorId: name.slice(setting.length + 1),
    before: JSON.parse(value) as TypeRules,
  }))
}

/** Notes the rules of before. Those of an earlier note stay, because the peers received them last. */
export async function oweRules(tx: Transaction, { actorId, before }: OwedRules): Promise<void> {
  const noted = (await findOwedRules(tx)).find((one) => one.actorId === actorId)
  await putSetting(tx, `${setting} ${actorId}`, { ...before, ...noted?.before })
}

export async function deleteOwedRules(tx: Transaction, actorId: string): Promise<void> {
  await tx.run('/* rights */ DELETE FROM setting WHERE name = $1', `${setting} ${actorId}`)
}

export function typeRulesOf(types: readonly TrustType[]): TypeRules {
  return Object.fromEntries(new TrustTypes(types).all().map(({ name, permissions }) => [name, permissions]))
}

/** The trust types whose rules differ, with those of before. A type that is not declared grants nothing. */
export function changedTypes(before: TypeRules, after: TypeRules): TypeRules {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  const changed = names.filter((name) => canonical(before[name] ?? {}) !== canonical(after[name] ?? {}))
  return Object.fromEntries(changed.map((name) => [name, before[name] ?? {}]))
}

/** Stores the rules of a new database. Returns the trust types whose peers have to learn of other rules, with those of before. */
export async function startTypes(store: Store, types: readonly TrustType[]): Promise<TypeRules> {
  const declared = typeRulesOf(types)
  const known = await store.read(findTypeRules)
  if (known !== null) return changedTypes(known, declared)
  await store.write(async (tx) => {
    if ((await findTypeRules(tx)) === null) await putTypeRules(tx, declared)
  })
  return {}
}
