//! The evaluation on a small excerpt of STAR.

use super::*;
