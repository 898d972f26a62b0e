/**
 * What tells that a stored value is the one that was written. A disk, or the memory on the way to it, may flip a bit;
 * inside a text that leaves a text, which no database notices. The key is part of it, so that a value is not served under
 * another name, or as another actor's.
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
    reason: `The checksum of ${JSON.stringify(name)} of actor ${actorId} is not that of its value: restore it from a backup, or write it anew`,
  })
}

/** Of an item, which has no name of its own. */
export function itemName(list: string, item: number): string {
  return `${list}#${item}`
}
