/** What a property or list may be called. */
import { quoted, ServiceError } from '../errors.ts'

/** In UTF-8 bytes: below what a PostgreSQL index row takes beside its other columns. */
export const maxNameBytes = 1024

/** @throws ServiceError `invalid_name` */
export function checkName(name: string): void {
  const complaint = complaintAbout(name)
  if (complaint !== null) throw new ServiceError('invalid_name', `Cannot use the name ${quoted(name)}: ${complaint}`)
}

/** A list's name is a property's name, and besides not one that peers take for a marker. @throws ServiceError `invalid_name` */
export function checkListName(name: string): void {
  checkName(name)
  if (name.startsWith('_'))
    throw new ServiceError('invalid_name', `Cannot use the name ${quoted(name)}: a list's name does not begin with "_"`)
  if (name.includes('#'))
    throw new ServiceError('invalid_name', `Cannot use the name ${quoted(name)}: a list's name holds no "#"`)
}

function complaintAbout(name: string): string | null {
  if (name === '') return 'it is empty'
  if (name.includes('/')) return 'it holds a slash'
  if (name.includes('\0')) return 'it holds NUL'
  if (!name.isWellFormed()) return 'it holds half a surrogate pair'
  if (name.startsWith('list:')) return 'names that begin with "list:" are reserved'
  if (name.length > maxNameBytes || Buffer.byteLength(name) > maxNameBytes)
    return `it is longer than ${maxNameBytes} bytes`
  return null
}
