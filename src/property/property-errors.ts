/** Refusals about properties. */
import { quoted, ServiceError } from '../errors.ts'

/** @param path The property's name and the keys below it. */
export function propertyNotFound(path: readonly string[]): ServiceError {
  return new ServiceError('not_found', `There is no property ${quote(path)}`)
}

/** @param kind What has the name already. */
export function nameIsTaken(name: string, kind: string): ServiceError {
  return new ServiceError('conflict', `Cannot set ${quote([name])}: a ${kind} has this name`)
}

/** A hook's refusal is about the value and not about rights: 400 for every method that writes. */
export function rejectedWrite(path: readonly string[]): ServiceError {
  return new ServiceError('rejected', `Cannot set ${quote(path)}: the application rejected the value`)
}

export function rejectedDelete(path: readonly string[]): ServiceError {
  return new ServiceError('forbidden', `Cannot delete ${quote(path)}: the application rejected it`)
}

export function quote(path: readonly string[]): string {
  return quoted(path.join('/'))
}
