/** The request of an owner, as handlers of a feature of an application receive it. */
import { type ActSpelling, noteIfOwner } from '../observe/own-acts.ts'
import type { FeatureRequest } from './definition.ts'

export function featureRequest({ actor, caller }: Pick<FeatureRequest, 'actor' | 'caller'>): FeatureRequest {
  return {
    actor,
    caller,
    note: (spelling: ActSpelling, subject = {}) => {
      // The type of a general spelling has no subject.
      noteIfOwner({ actor, caller }, spelling, ...([subject] as unknown as []))
    },
  }
}
