/** The refusal for a property, or a key inside one, that does not exist. */
import { ServiceError } from '../errors.ts'

/** @param path The property's name and the keys below it. */
export function propertyNotFound(path: readonly string[]): ServiceError {
  return new ServiceError('not_found', `There is no property ${JSON.stringify(path.join('/').slice(0, 120))}`)
}
