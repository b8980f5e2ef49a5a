//! Objects of JSON only: the derived parsers of structs take arrays of their members too.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Value};

/// A value that is parsed from an object, and from no array.
pub struct Object<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfMap<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for OfMap<T> {
            type Value = T;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map))
            }
        }

        deserializer.deserialize_map(OfMap(PhantomData)).map(Object)
    }
}

/// Parses an object.
pub(super) fn object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    let Object(object) = Object::deserialize(deserializer)?;
    Ok(object)
}

/// Parses a list of objects.
pub(super) fn objects<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let objects = Vec::<Object<T>>::deserialize(deserializer)?;
    Ok(objects.into_iter().map(|Object(object)| object).collect())
}

/// Parses the fields of a document. No name stands twice.
pub(super) fn fields<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Map<String, Value>, D::Error> {
    struct Fields;

    impl<'de> Visitor<'de> for Fields {
        type Value = Map<String, Value>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object with the values of fields")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut fields = Map::new();
            while let Some(name) = map.next_key::<String>()? {
                match fields.entry(name) {
                    Entry::Vacant(place) => drop(place.insert(map.next_value()?)),
                    Entry::Occupied(there) => {
                        let name = there.key().escape_debug();
                        return Err(A::Error::custom(format!("the field `{name}` stands twice")));
                    }
                }
            }
            Ok(fields)
        }
    }

    deserializer.deserialize_map(Fields)
}
