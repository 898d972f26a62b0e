/** Decodes path segments exactly once. */
import { ServiceError } from '../../errors.ts'

/**
 * Returns the decoded segments of a path. An encoded slash, NUL, a dot segment and invalid UTF-8 are refused, because a
 * proxy or file system may read each as another path.
 */
export function decodePath(path: string): string[] {
  if (!/^\/[!-~]*$/.test(path))
    throw new ServiceError('bad_request', 'Cannot use this path: it must be percent-encoded ASCII')
  if (path === '/') return []
  const segments = path.slice(1).split('/')
  return path.includes('%') || path.includes('.') ? segments.map(decodeSegment) : segments
}

function decodeSegment(segment: string): string {
  const decoded = decode(segment)
  if (decoded.includes('/'))
    throw new ServiceError('invalid_name', 'Cannot use this path: a segment contains an encoded slash')
  if (decoded.includes('\0')) throw new ServiceError('invalid_name', 'Cannot use this path: a segment contains NUL')
  if (decoded === '.' || decoded === '..')
    throw new ServiceError('invalid_name', 'Cannot use this path: it contains a dot segment')
  return decoded
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch (cause) {
    throw new ServiceError('bad_request', 'Cannot use this path: its percent-encoding is not valid UTF-8', { cause })
  }
}
