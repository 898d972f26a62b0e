/** Rules for the names of properties and lists. */
import { quoted, ServiceError } from '../errors.ts'

/** In UTF-8 bytes. A PostgreSQL index row has room for this name beside its other columns. */
export const maxNameBytes = 1024

/** @throws ServiceError `invalid_name` */
export function checkName(name: string): void {
  const complaint = complaintAbout(name)
  if (complaint !== null) throw new ServiceError('invalid_name', `Cannot use the name ${quoted(name)}: ${complaint}`)
}

/** True for a name that `checkName` accepts. */
export function isPropertyName(name: string): boolean {
  return complaintAbout(name) === null
}

/** Checks the name of a list. It must not look like a marker to peers. @throws ServiceError `invalid_name` */
export function checkListName(name: string): void {
  checkName(name)
  if (name.startsWith('_'))
    throw new ServiceError('invalid_name', `Cannot use the name ${quoted(name)}: a list's name must not begin with "_"`)
  if (name.includes('#'))
    throw new ServiceError('invalid_name', `Cannot use the name ${quoted(name)}: a list's name must not contain "#"`)
}

function complaintAbout(name: string): string | null {
  if (name === '') return 'it is empty'
  if (name.includes('/')) return 'it contains a slash'
  if (name.includes('\0')) return 'it contains NUL'
  if (!name.isWellFormed()) return 'it contains half a surrogate pair'
  if (name.startsWith('list:')) return 'names that begin with "list:" are reserved'
  if (name.length > maxNameBytes || Buffer.byteLength(name) > maxNameBytes)
    return `it is longer than ${maxNameBytes} bytes`
  return null
}
