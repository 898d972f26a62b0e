/** Reads addresses of resources in calls. */
import { McpFailure } from './failure.ts'

const maxUriLength = 2048

export function isUri(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= maxUriLength
}

/** @throws McpFailure `invalid_params` */
export function requireUri(uri: unknown): string {
  if (isUri(uri)) return uri
  throw new McpFailure('invalid_params', `Invalid "uri": expected a string of 1 to ${maxUriLength} characters`)
}
