/** An application with a feature: `troupe dev app.ts`. */
import { troupe } from 'troupe'
import { bookmarks } from './bookmarks.ts'

export default troupe({
  type: 'urn:actingweb:example.com:bookmarks',
  name: 'Bookmarks',
  description: 'Bookmarks of each person, with notes that are stored encrypted.',
  features: [bookmarks],
})
