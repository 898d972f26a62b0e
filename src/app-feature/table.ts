/** The table of a feature of an application, as the service declares tables. */
import { present } from '../json/present.ts'
import type { SealedColumn } from '../secret/sealed-columns.ts'
import { placedByActor } from '../table/placement.ts'
import type { RecordMember } from '../table/record-kind.ts'
import type { Table } from '../table/table.ts'
import type { FeatureMember, FeatureTable } from './definition.ts'

/** Undefined: the column is not declared as sealed. */
export function sealedColumn({ name, key, sealed = {} }: FeatureTable, column: string): SealedColumn | undefined {
  const meaning = Object.hasOwn(sealed, column) ? sealed[column] : undefined
  return meaning === undefined ? undefined : { table: name, key: ['actor_id', ...key], column, meaning }
}

export function tableOf(declared: FeatureTable): Table {
  const { name, key, sealed = {}, records, quota } = declared
  return {
    name,
    key,
    place: placedByActor(),
    sealed: Object.keys(sealed).flatMap((column) => sealedColumn(declared, column) ?? []),
    ...present({
      records:
        records === undefined
          ? undefined
          : { kind: records.kind, table: name, key, members: records.members.map((one) => memberOf(declared, one)) },
      quotas:
        quota === undefined
          ? undefined
          : [
              {
                name,
                ...quota,
                counts: `Every row of ${name} counts.`,
                tables: [name],
                sql: `SELECT COUNT(*) AS used FROM ${name} WHERE actor_id = $1`,
              },
            ],
    }),
  }
}

function memberOf(table: FeatureTable, { name, type, check, isNullable }: FeatureMember): RecordMember {
  const place = type === 'secret' ? sealedColumn(table, name) : undefined
  return { name, column: name, type, ...present({ check, isNullable, sealed: place }) }
}
