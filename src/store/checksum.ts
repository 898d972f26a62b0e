/**
 * Checksums of stored values. A disk or memory may flip a bit, and no database notices that inside a string. The checksum
 * covers the key too, so that a value cannot appear under another name or as another actor's value.
 */
import { crc32 } from 'node:zlib'
import { ServiceError } from '../errors.ts'

export function checksumOf(actorId: string, name: string, value: string): number {
  return crc32(`${actorId}\n${name}\n${value}`)
}

interface Checked {
  readonly value: string
  readonly checksum: number | null
}

export function isIntact(actorId: string, name: string, { value, checksum }: Checked): boolean {
  return checksum === null || checksum === checksumOf(actorId, name, value)
}

/** @throws ServiceError `value_corrupted` */
export function requireIntact(actorId: string, name: string, stored: Checked): void {
  if (isIntact(actorId, name, stored)) return
  throw new ServiceError('value_corrupted', `The stored value of ${JSON.stringify(name)} is damaged`, {
    reason: `The checksum of ${JSON.stringify(name)} of actor ${actorId} does not match its value: restore it from a backup, or write it again`,
  })
}

/** Returns the name under which the checksum of a list item is computed, because items have no names. */
export function itemName(list: string, item: number): string {
  return `${list}#${item}`
}
