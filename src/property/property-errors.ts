/** Errors of property operations. */
import { quoted, ServiceError } from '../errors.ts'

/** @param path The property's name and the keys below it. */
export function propertyNotFound(path: readonly string[]): ServiceError {
  return new ServiceError('not_found', `The property ${quote(path)} does not exist`)
}

/** @param kind The kind of the property that has the name. */
export function nameIsTaken(name: string, kind: string): ServiceError {
  return new ServiceError('conflict', `Cannot set ${quote([name])}: a ${kind} has this name`)
}

/** The error when a hook rejects a value. It concerns the value, not rights, so every method that writes returns 400. */
export function rejectedWrite(path: readonly string[]): ServiceError {
  return new ServiceError('rejected', `Cannot set ${quote(path)}: the application rejected the value`)
}

export function rejectedDelete(path: readonly string[]): ServiceError {
  return new ServiceError('forbidden', `Cannot delete ${quote(path)}: the application rejected it`)
}

export function quote(path: readonly string[]): string {
  return quoted(path.join('/'))
}
